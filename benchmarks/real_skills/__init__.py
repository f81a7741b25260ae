"""Real packages with planted faults: how much of it the reference miner finds, and what a network makes of it.

Touches package registries, a work folder and docs/reference-miner.md. Called by `python -m real_skills`.
"""
