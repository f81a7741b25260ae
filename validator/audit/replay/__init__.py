"""Rounds computed again from what is stored, and compared with what was stored then."""
