"""Where tasks come from: sources, canaries, packing, the task server (SPEC 5, 13)."""
