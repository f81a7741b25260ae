"""Other implementations of the same work, for comparison with ours."""
