"""Executions in the local network: `here.py` gives it a sandbox, `story.py` reads results and shows them."""
