"""Worker processes with budgets that can be killed: they judge what strangers send (SPEC 5, D-27).

Nothing is imported here: worker processes import this package and pay for it.

Touches processes and their limits. Called by rounds, kinds, miners, tasks, waiting work and `validator miner check`.
"""
