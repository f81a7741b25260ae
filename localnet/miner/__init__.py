"""A local miner: answers dispatches over HTTP as the protocol asks, or misbehaves in one defined way (SPEC 13)."""
