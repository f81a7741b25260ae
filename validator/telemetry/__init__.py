"""Floor 2: what the program says about itself. Logs, the event catalogue, metrics."""
