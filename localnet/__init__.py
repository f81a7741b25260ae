"""The local network: simulated chain, reference miners and planners, step services, written bundles, and the demo.

It is a distribution of its own beside the validator, whose code it runs; the validator imports nothing of it.
"""
