"""The laboratory: whole networks without I/O on the real plan, score, step and weights of a scoring version.

Touches files in `cli/`, `study.py` and `population.py`, processes in `runs.py`. Called by `validator simulate`.
"""
