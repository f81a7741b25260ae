"""Executions in the local network: `local_engine.py` gives it a sandbox, `story.py` reads results and shows them.

Touches a container engine and, for reading, the store. Called by `network.py`, `result.py` and `screen.py`.
"""
