"""The laboratory: whole networks without I/O on the real plan, score, step and weights of a scoring version.

Only `cli/` and `study.py` touch files, `population.py` reads TOML, `runs.py` starts processes; the rest is pure.
Called by `validator simulate` and benchmarks.
"""
