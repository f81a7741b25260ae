"""Floor 1: who gets a task (SPEC 8). Pure."""
