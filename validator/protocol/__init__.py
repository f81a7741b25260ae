"""What travels and what is stored. Values, bytes, limits and reasons; no I/O."""
