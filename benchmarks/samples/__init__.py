"""Fixtures of benchmarks."""
