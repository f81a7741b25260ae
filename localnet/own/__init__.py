"""The local network over an owner's own tasks or miners: it tells whether the tasks tell miners apart.

Reads task folders and the miners' file, asks the miners named, prints; the rest is in memory. Called by
`validator devnet --tasks` and `--miners`.
"""
