"""Explanations of what a number is made of: a round as one miner met it, and a miner's last rounds, as plain values.

Everything is computed from what is stored by the functions that scored it. The field names are what `--json` shows, so
they are part of the interface.
"""
