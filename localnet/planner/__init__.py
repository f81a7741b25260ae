"""Miners of the local network that answer workflow tasks, each with a skill of its own (SPEC 12)."""
