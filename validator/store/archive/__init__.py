"""Old rounds in files beside the store: their form, and how they are read."""
