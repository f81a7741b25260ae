"""Old rounds in files beside the store: written, read again, and taken out of the tables."""
