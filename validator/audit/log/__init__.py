"""The log of receipts as a file of lines: written from a store, verified without one (docs/auditors.md).

`export.py` reads the store; `verify.py` and what it calls read a stranger's file, and decide what to believe of it.

Touches that file, and its folders; `chain_evidence.py` asks a chain that its caller opens. `chain.py`,
`vector.py` and `weight_vectors.py` do no I/O. Called by `validator audit`, `laboratory/` and `simulation/`.
"""
