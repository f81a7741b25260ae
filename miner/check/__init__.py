"""Trying a miner before it meets a validator: dispatches with known truth, judged as a validator judges them."""
