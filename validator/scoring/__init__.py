"""Floor 1: what an answer is worth (SPEC 3, 4, 6, 7, 9 to 11). Pure."""
