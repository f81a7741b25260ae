"""Drafts of truth: what can be read of a packed bundle, for a person who decides what is true of it."""
