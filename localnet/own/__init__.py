"""The local network over an owner's own tasks or miners: it tells whether the tasks tell miners apart.

Touches task folders and the miners named. Called by `validator devnet --tasks` and `--miners`.
"""
