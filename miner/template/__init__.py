"""A small miner to begin with: `validator miner new` copies it, docs/tutorial-miner.md explains it line by line."""
