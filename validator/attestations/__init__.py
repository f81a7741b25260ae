"""Attestations for consumers: signed group results about skills that no round has again, with their verification.

In-toto statements (`statement.py`) in DSSE envelopes (`dsse.py`), from records of rounds (`publish.py`), under a key
that the hotkey vouches for in the log (`keys.py`). `verify.py` needs neither store nor network; `gate.py` asks
validators before an install; `submission.py` queues skills of others.

Touches the store and the key's file; the gate calls APIs. Called by `validator attestation`, `web/` and the daemon.
"""
