"""Deterministic simulation of the whole daemon: one seed gives one history of rounds, faults and kills.

Chain, miners, network and time are simulated. Real: a process per seed, and a SQLite store in a temporary folder.
Called by `make simulate-faults` and `make simulate-mutations`.
"""
