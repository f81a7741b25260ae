"""Version 2.0.0: what differs from 1.0.0, and nothing else: tallies in place of windows, evidence of sharing (SPEC 17).

Pure: touches nothing. Called through `scoring.version("2.0.0")`.
"""
