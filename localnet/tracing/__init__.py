"""Runtime traces of a skill: each run is a real process with limits, watched from inside (SPEC 5).

The package's own `__init__` files import nothing: `inside/` is loaded in every traced process and must start fast.
"""
