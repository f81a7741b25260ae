"""The local network over an owner's own tasks or miners: it tells whether the tasks tell miners apart.

Reads task folders and a miners' file, and asks its miners. Called by `validator devnet --tasks` and `--miners`.
"""
