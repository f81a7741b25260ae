"""Health of a validator: one catalogue of conditions, and its views.

Rooms below report what they see (`telemetry/reports.py`, `rounds/facts.py`); `board.py` keeps the active conditions.
`report.py` is `/readyz`, `client.py` asks for it, `status.py` is `validator status`, `doctor/` is `validator doctor`.

Touches store, chain and engine, for reading; the one write, of the doctor, is rolled back. Called by `web/`, the daemon
and commands.
"""
