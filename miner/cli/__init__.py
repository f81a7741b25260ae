"""The commands that the reference miner adds to `validator`: each file is the target of an entry point.

Touches the terminal, and everything through `miner/`. Called by `validator/cli/commands.py`, by entry point.
"""
