"""Analysers of skills: pure functions over a bundle's files; nothing is fetched and nothing is run."""
