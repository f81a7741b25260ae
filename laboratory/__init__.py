"""The laboratory: whole networks without I/O on the real plan, score, step and weights of a scoring version.

Touches files of results. Called by `validator simulate`.
"""
