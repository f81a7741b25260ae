"""Miners of the local network that answer workflow tasks, each with its own skill (SPEC 12).

Touches loopback sockets. Called by `localnet/population.py`.
"""
