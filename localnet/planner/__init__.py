"""Miners of the local network that answer workflow tasks, each with its own skill (SPEC 12).

Touches loopback sockets in `planner_server.py`, else nothing. Called by `localnet/population.py`.
"""
