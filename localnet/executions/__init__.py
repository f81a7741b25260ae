"""Executions in the local network: `here.py` gives it a sandbox, `story.py` reads what came of them, `page.py` shows it."""
