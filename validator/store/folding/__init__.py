"""A round that has ended as one record: what its rows and documents have in common is stored once."""
