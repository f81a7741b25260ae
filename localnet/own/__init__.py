"""The local network over an owner's own tasks or miners: it tells whether the tasks tell miners apart.

Touches task folders, a miners' file and its miners, by asking. Called by `validator devnet --tasks` and `--miners`.
"""
