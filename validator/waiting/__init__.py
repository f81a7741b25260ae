"""Waiting work: executions (SPEC 15) and code checks (SPEC 12), tried between the rounds until they end.

The table of the store is the truth. A worker in the validator's own process takes work from it (`embedded.py`); or
worker processes do, told by jobs of a Procrastinate queue that the validator keeps in step (`jobs.py`, `sweep.py`,
`worker.py`). Kinds and tries are the same for both (`life_cycle.py`).
"""
