"""Version 2.0.0: differences from 1.1.0 (SPEC 17)."""
