"""Replay, explanations, export and offline verification of rounds that the store or a log holds."""
