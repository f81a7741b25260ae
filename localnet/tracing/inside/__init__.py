"""What runs in the traced process. Standard library only, and little of it: every import costs each run."""
