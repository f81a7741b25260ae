"""Version 1.0.0 (SPEC 3 to 12). What it computes never changes; edits for speed are held by what it came to so far.

Pure: touches nothing. Called through `scoring.version("1.0.0")`, and by the versions that build on it.
"""
