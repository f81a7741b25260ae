"""Real packages with planted faults: how much of it the reference miner finds, and what a network makes of it."""
