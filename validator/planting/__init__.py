"""Truth by construction: faults planted in benign bundles by a draw are known because they were (SPEC 16, D-33).

Touches data files of the package. Called by tasks, in its own process.
"""
