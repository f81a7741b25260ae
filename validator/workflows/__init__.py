"""Runs miners' plans on real services and measures what happened (SPEC 12)."""
