"""Fuzzing of every parser of outside bytes: `python -m fuzz`."""
