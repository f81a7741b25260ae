"""Waiting work: executions (SPEC 15) and code checks (SPEC 12), tried between the rounds until they end.

The table of the store is the record. Work is done in the validator's own process (`embedded.py`), or by worker
processes through a Procrastinate queue (`jobs.py`, `sweep.py`, `worker.py`). Kinds and attempts are the same for both
(`life_cycle.py`).

Touches the store and the sandbox. Called by the daemon and `validator worker`.
"""
