"""Deterministic simulation of the whole daemon: one seed gives one history of rounds, faults and kills."""
