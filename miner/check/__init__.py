"""Trying a miner before it meets a validator: dispatches with known truth, judged as a validator judges them.

Touches the miner that it is given, over HTTP, and processes that run our written bundles; serves step services for
plans. Called by `validator miner check`; the local network asks `target.py`.
"""
