"""Trying a miner before it meets a validator: dispatches with known truth, judged as a validator judges them.

Touches the miner that it is given, over HTTP. Called by `validator miner check`.
"""
