"""Benchmarks of `make bench`, one module each.

Touches temporary stores and loopback sockets. Called by `benchmarks/harness`, which finds the modules by name.
"""
