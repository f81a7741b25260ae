"""The subnet: one protocol for the real chain and for a simulated one with its state file.

Touches the node, the simulated chain's file and the hotkey's file; `base.py`, `weight_rows.py` and `clockwatch.py`
touch nothing. Called by rounds, weights, audit, health, web, the daemon, commands and the reference miner.
"""
