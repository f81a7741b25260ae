"""Malicious skills in the style of those in the wild, their benign twins, and popular packages.

Touches its own data files and a folder of packed tasks. Called by `python -m wild_skills` and tests/docs.
"""
