"""The simulated chain: a subnet in a file, which the validator finds by entry point (`chain.kind = "simulated"`).

Touches that file. Called through the entry point, by the local network and the simulation.
"""
