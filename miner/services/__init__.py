"""Step services of the local network: real work on small inputs, with prices, delays and faults (SPEC 12)."""
