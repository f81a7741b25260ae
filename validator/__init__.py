"""The SSSA validator: scores Signed Skill Safety Attestations and sets weights on a Bittensor subnet.

docs/architecture.md maps its packages. This file touches nothing. Called by everything, for the version.
"""

__version__ = "1.0.0.dev0"
