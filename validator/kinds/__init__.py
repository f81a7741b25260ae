"""The halves of the kinds of task that touch the world: supply of tasks, runs of plans; their rules are in `sssa`.

Touches step services, through `outgoing/`, and task sources. Called by the daemon, rounds and workers.
"""
