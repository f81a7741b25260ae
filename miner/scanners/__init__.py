"""Scanners of the reference miner: each reads a bundle's files, runs none, and returns findings with places.

Touches rule files of the package, and Semgrep's engine as a process. Called by `miner/analysis.py` and drafts.
"""
