"""Workflows: a goal goes out, a signed plan comes back and is run on real services (SPEC 12).

Touches step services and task sources; the rest is pure. Called by rounds and audit (through `kind.py`), `miner check`.
"""
