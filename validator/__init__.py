"""The SSSA validator: scores Signed Skill Safety Attestations and sets weights on a Bittensor subnet."""

__version__ = "1.0.0.dev0"
