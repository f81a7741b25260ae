"""`validator weights plan`: what would be sent now (SPEC 11)."""

from validator.cli import work
from validator.cli.options import Config, Json


def plan(config: Config = None, as_json: Json = False) -> None:
    """Show what would be sent now against what is on chain; sends nothing. A validator may be running."""
    work.weights_plan.plan(config, as_json=as_json)
