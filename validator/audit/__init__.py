"""Replay, explanations, export and offline verification of rounds that the store or a log holds.

Reads the store and files of logs, writes exports and checkpoints; `audit verify` loads no store or task.
Asks a chain only for `audit verify --chain`. Called by commands, `web/`, `health/` and worker processes.
"""
