"""Calls to miners by other implementations (bittensor's dendrite, bare aiohttp), for comparison with ours.

Touches loopback sockets and an environment with that bittensor. Called by `python -m peers`.
"""
