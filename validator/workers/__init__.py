"""Judging what strangers send where it hurts nobody: in processes with a budget, which can be killed (SPEC 5, D-27).

Nothing is imported here: worker processes import this package and pay for it.
"""
