"""The subnet: one protocol for the real chain and for a simulated one with its state file.

Touches the node and the hotkey's file. Called by rounds, weights, the daemon and commands.
"""
