"""The explanation of an assessment: each number of one miner's answer, with what it was made of.

Pure: touches nothing. Called by `audit/explain`, through `kind.py`, the pages of `cli/kinds` and the miner's check.
"""
