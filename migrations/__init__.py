"""Alembic's folder. Migrations are frozen: they name plain column types and import nothing of the program."""
