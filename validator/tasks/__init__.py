"""Sources of tasks: folders, canaries, packing, the task server (SPEC 5, 13)."""
