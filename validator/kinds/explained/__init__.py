"""Explanations common to all kinds: selection, gates, and the stored result of a task.

Pure: touches nothing. Called by the explanations of each kind, `audit/explain`, pages of `cli/` and the miner's check.
"""
