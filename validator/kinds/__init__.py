"""The kinds of task, a room each: requests, gates, runs, proofs and explanations.

`interface.py` is what the rest of the program knows of a kind, `registry.py` has the row of each. The rooms import
nothing of each other, and only the daemon's assembly names them.

Touches step services, through `outgoing/`. Called by rounds, audit and workers.
"""
