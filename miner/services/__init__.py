"""Step services of the local network: real work on small inputs, with prices, delays and faults (SPEC 12).

Touches loopback sockets in `service_server.py`, else nothing. Called by the local network and `validator miner check`,
for plans to run on.
"""
