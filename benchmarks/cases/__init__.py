"""Benchmarks of `make bench`, one module each."""
