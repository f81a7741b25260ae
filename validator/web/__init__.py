"""What a running validator answers over HTTP: its health and its metrics."""
