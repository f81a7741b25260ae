"""The commands that the reference miner adds to `validator`: each file is the target of an entry point."""
