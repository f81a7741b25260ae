"""The kinds of task, a room each: requests, gates, runs, proofs and explanations.

`interface.py` is what the rest of the program knows of a kind, `services.py` what serves it from outside, `registry.py`
has the row of each. The rooms import
nothing of each other. Registry, daemon, `cli/kinds`, local network and the miner's check import from a room.

Touches step services, through `outgoing/`, and task sources. Called by rounds, audit and workers.
"""
