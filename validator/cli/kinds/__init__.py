"""How tasks are shown: a file per kind, and a row of it in `pages`."""
