"""The explanation of a workflow task: one miner's plan, its run step by step, and its score.

Pure: touches nothing. Called by `audit/explain`, through `kind.py`, and by the pages of `cli/kinds`.
"""
