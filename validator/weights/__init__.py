"""Scores to weights on the chain, guarded: one submission per epoch, never sent twice (SPEC 11)."""
