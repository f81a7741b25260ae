"""Floor 6: a whole network on one machine: simulated chain, local miners, written bundles."""
