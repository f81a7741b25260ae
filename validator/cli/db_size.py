"""`validator db prune` and `db forecast`: how large the store is, is made, and will be."""

from validator.cli import work
from validator.cli.options import Config, Json


def prune_(config: Config = None, as_json: Json = False) -> None:
    """Remove now what the settings no longer keep: raw answers and bundles. A validator may be running."""
    work.db_size.prune_(config, as_json=as_json)


def forecast_(config: Config = None, as_json: Json = False) -> None:
    """Say how large the store is, what a round adds to each table, and what a year of rounds comes to."""
    work.db_size.forecast_(config, as_json=as_json)
