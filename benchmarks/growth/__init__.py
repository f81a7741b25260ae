"""How time, memory and size grow with miners, findings and history: `make bench-growth`."""
