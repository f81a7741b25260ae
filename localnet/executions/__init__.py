"""Executions in the local network: `here.py` gives it a sandbox, `story.py` reads results, `page.py` shows them."""
