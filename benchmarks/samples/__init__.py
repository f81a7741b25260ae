"""Stores, answers, miners and processes that benchmarks measure on; each file makes one.

Touches temporary folders, loopback sockets and processes. Called by `benchmarks/cases` and the other benchmarks.
"""
