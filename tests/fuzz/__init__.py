"""Fuzzing of every parser of outside bytes: `make fuzz`."""
