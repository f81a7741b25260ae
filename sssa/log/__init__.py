"""Verification of a log of receipts, a file of lines, without the store that it came from (docs/auditors.md).

`verify.py` and what it calls read a stranger's file, and decide what to believe of it.

Touches that file, and its folders. `chain.py`, `vector.py` and `weight_vectors.py` do no I/O. Called by
`validator audit`, `laboratory/` and `tests/simulation/`.
"""
