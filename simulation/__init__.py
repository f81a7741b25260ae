"""Deterministic simulation of the whole daemon: one seed gives one history of rounds, faults and kills.

Touches nothing real: chain, miners, disk and time are simulated. Called by `make simulate-faults`.
"""
