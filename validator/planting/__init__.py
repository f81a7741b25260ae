"""Truth by construction: faults planted in benign bundles by a draw are known because they were (SPEC 16, D-33).

Touches data files of the package and an owner's folder of shapes, for reading; what it plants is in memory. Called by
`validator tasks seed`, and by rounds that make canaries, in a worker process.
"""
