"""Deterministic simulation of the whole daemon: one seed gives one history of rounds, faults and kills.

Simulates chain, miners, network and time. Touches a process per seed, and SQLite stores in temporary folders.
Called by `make simulate-faults`, `python -m simulation replay` and `python -m simulation.mutations`.
"""
