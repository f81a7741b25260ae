"""`validator miners …`: everyone ever seen on the subnet."""

from validator.cli import work
from validator.cli.options import Config, Json


def list_(config: Config = None, as_json: Json = False) -> None:
    """List everyone ever seen, highest score first: what it declares and what it stands at."""
    work.miners.list_(config, as_json=as_json)
