"""Waiting work: executions (SPEC 15) and code checks (SPEC 12), tried between the rounds until they end.

The table of the store is the record. Work is done in the validator's own process (`embedded.py`), or by worker
processes through a Procrastinate queue (`jobs.py`, `worker.py`). Kinds and attempts are the same for both.

Touches the store, the sandbox, the queue's tables in Postgres and the health board. Called by the daemon, `validator
worker`.
"""
