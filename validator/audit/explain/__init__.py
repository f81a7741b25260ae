"""Explanations of scores as plain values: a round for one miner, and a miner's last rounds.

The functions that scored compute them again from the store. Their field names are what `--json` shows.

Touches the store, for reading. Called by `validator explain`, `validator flags show`, the API and the pages.
"""
