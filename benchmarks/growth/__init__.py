"""Growth of time, memory and size with miners, findings and history: `make bench-growth`."""
