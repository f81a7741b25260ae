"""Malicious skills in the style of those in the wild, their benign twins, and popular packages."""
