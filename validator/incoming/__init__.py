"""HTTP that strangers send to a server of ours: how much of it is taken at once, for how long, and what it may log."""
