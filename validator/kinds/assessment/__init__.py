"""Assessments: a bundle goes out, a signed attestation comes back, compared with truth and group (SPEC 3 to 7).

Touches task sources; its gates and proofs touch nothing. Called by rounds, replay and audit, through `kind.py`.
"""
