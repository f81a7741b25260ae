"""Version 1.0.0 (SPEC 3 to 12). What it computes never changes; edits for speed are held by what it came to so far."""
