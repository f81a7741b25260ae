"""Miners of the local network that answer workflow tasks, each with its own skill (SPEC 12).

`planner_server.py` listens on loopback; parsing and planning are pure. Called by `localnet/population.py`.
"""
