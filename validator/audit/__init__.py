"""Replay, explanations, export and offline verification of rounds that the store or a log holds.

Touches the store for reading, logs and exports; `audit verify` loads no store or task, and asks a chain
only with `--chain`. Called by commands, `web/`, `health/` and worker processes.
"""
