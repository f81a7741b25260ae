"""The explanation of an assessment: each number of one miner's answer, with what it was made of.

Pure: touches nothing. Called by `audit/explain`, through `kind.py`, and by the pages of `cli/kinds`.
"""
