"""Workflows: a goal goes out, a signed plan comes back and is run on real services (SPEC 12).

Touches step services and task sources; its gates touch nothing. Called by rounds, replay and audit, through `kind.py`.
"""
