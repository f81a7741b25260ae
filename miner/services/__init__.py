"""Step services of the local network: real work on small inputs, with prices, delays and faults (SPEC 12).

Touches listening sockets. Called by the local network and `validator miner check`, for plans to run on.
"""
