"""Submission of weights: one vector per epoch, guarded against sending twice; and anchors of the log (SPEC 11).

Touches the chain, by calls that sign, and the store. Called by the daemon and `validator weights`; doctor, status and
`validator serve` only read through it.
"""
