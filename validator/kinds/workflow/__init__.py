"""Workflows: a goal goes out, a signed plan comes back and is run on real services (SPEC 12)."""
