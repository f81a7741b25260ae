"""Goals of workflows with truth, versioned: what the local network's tasks of planners are drawn from (SPEC 12)."""
