"""Scanners that the reference miner wraps: each reads a bundle and returns findings with places."""
