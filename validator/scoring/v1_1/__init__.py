"""Version 1.1.0: what differs from 1.0.0, and nothing else (SPEC 16)."""
