"""Tracer of runtime bundles: each run is a process that is followed from outside, by ptrace (SPEC 5, 15).

The program of the runtime image, and of the reference miner; it needs no other distribution. `run.py` runs a
bundle, `process.py` one process of it. `inside/` is loaded in every traced process and imports little: every import
costs each run. docs/security.md says what a bundle cannot do to it, and what it can.

Touches processes and a temporary folder; in the image it also writes the evidence folder. Called by the sandbox,
through the image, and by the reference miner on its own machine.
"""
