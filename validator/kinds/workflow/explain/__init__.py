"""A workflow task as one miner met it."""
