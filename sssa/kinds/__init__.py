"""The kinds of task, a room each: requests, gates, proofs and explanations.

`interface.py` is what the rest of the program knows of a kind, `registry.py` has the row of each. The rooms import
nothing of each other.

Touches nothing. Called by rounds, the log, audit and worker processes.
"""
