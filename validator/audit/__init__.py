"""Replay, explanations, export and offline verification of rounds that the store or a log holds.

Touches the store for reading and files of logs; `audit verify` loads no store, chain or task. Called by commands.
"""
