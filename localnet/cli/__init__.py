"""The commands that the local network adds to `validator`: each file is the target of an entry point.

Touches the terminal, and everything through `localnet/`. Called by `validator/cli/commands.py`, by entry point.
"""
