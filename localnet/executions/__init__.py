"""Executions in the local network: `local_engine.py` gives it a sandbox, `story.py` reads results and shows them."""
