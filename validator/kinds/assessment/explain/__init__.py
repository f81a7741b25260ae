"""An assessment as one miner met it."""
