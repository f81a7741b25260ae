"""Bounds of our HTTP servers: connections, time and log lines that strangers can use.

Touches listening sockets; `auth.py` only memory. Called by `web/`, `daemon/` and the task server.
"""
