"""Version 1.1.0: what differs from 1.0.0, and nothing else (SPEC 16).

Pure: touches nothing. Called through `scoring.version("1.1.0")`, and by 2.0.0.
"""
