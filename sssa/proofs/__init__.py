"""Consensus proofs of groups and of debates, sealed so that anyone can check them (SPEC 14). Pure.

Touches nothing. Called by kinds, the settling of rounds, audit and `validator proof`.
"""
