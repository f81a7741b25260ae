"""The commands that the local network adds to `validator`: each file is the target of an entry point."""
