"""The subnet as the validator sees it. One protocol, a simulated chain, a state file for it."""
