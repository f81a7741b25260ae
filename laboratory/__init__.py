"""The laboratory: whole networks without I/O on the real plan, score, step and weights of a scoring version.

Only `cli/`, `study.py` and `population.py` touch files, and `runs.py` processes. Called by `validator simulate`.
"""
