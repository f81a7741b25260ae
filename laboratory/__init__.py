"""The laboratory: whole networks without I/O on the real plan, score, step and weights of a scoring version."""
