"""Step services of the local network: real work on small inputs, with prices, delays and faults (SPEC 12).

`service_server.py` listens on loopback; actions touch nothing. Called by the local network and `validator miner check`,
for plans to run on.
"""
