"""The rules of Signed Skill Safety Attestations: documents, scoring, state, proofs, the log, attestations.

Touches files that it is given and, in the gate, validators over HTTP; all else is pure. Called by every other house.
"""
