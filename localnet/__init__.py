"""The local network: a simulated chain, a crowd of miners and planners, and the demo.

A distribution next to the miner and the validator, whose code it runs; neither imports anything of it.

Touches sockets, stores, a container engine and a development chain. Called by `validator devnet` and `localnet`.
"""
