"""Floor 2: the subnet as the validator sees it. One protocol, a simulated chain, a state file for it."""
