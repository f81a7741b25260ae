"""Goals of workflows with truth, versioned: what the local network's tasks of planners are drawn from (SPEC 12).

Touches the package's own files. Called by the local network and `validator miner check`.
"""
