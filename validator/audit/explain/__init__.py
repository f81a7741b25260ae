"""Explanations of what a number is made of: a round as one miner met it, and a miner's last rounds, as plain values.

The functions that scored compute them again from the store. Their field names are what `--json` shows.

Touches the store, for reading. Called by `validator explain`, `validator flags show`, the API and the pages.
"""
