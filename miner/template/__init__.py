"""A small miner to begin with: `validator miner new` copies it, docs/tutorial-miner.md explains it line by line.

Touches a listening socket and the hotkey's file once it runs. Called by nothing here: its copy is a program.
"""
