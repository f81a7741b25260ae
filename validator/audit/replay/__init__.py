"""Rounds computed again from what is stored, and compared with what was stored then.

Touches the store, for reading, and starts processes. Called by
`validator replay`, `db check` and worker processes; `audit verify` uses `gate_replay.py`, which does no I/O.
"""
