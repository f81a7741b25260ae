"""Old rounds out of the tables into archive files."""
