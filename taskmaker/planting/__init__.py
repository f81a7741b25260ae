"""Truth by construction: faults planted in benign bundles by a draw are known because they were (SPEC 16, D-33).

Touches template files and word lists, for reading (`shapes`, `skeletons`, `marks`, `templates`, `look_alikes`); the
rest edits bundles in memory. Called by `validator tasks seed`, and for canaries of live rounds, in a worker process.
"""
