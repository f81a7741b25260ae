"""Documents on the wire and in the store: values, bytes, limits and reasons. No I/O.

Touches nothing. Called by every room, the reference miner and the local network.
"""
