"""Options and arguments that several commands share (`--config`, `--json`, a round, a miner), each declared once."""

from pathlib import Path
from typing import Annotated

import typer

from validator.protocol.execution import WorkState
from validator.protocol.limits import MAX_ROUND_ID
from validator.protocol.skill_types import SkillType

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings; else $VALIDATOR_CONFIG, else ./validator.toml."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="At most so many.")]
State = Annotated[WorkState | None, typer.Option("--state", help="Those in this state alone.")]
RoundId = Annotated[int, typer.Argument(metavar="ROUND", min=0, help="The round's id.")]
Since = Annotated[
    int | None, typer.Option("--since", metavar="ROUND", min=0, max=MAX_ROUND_ID, help="This round and all later ones.")
]
Output = Annotated[Path | None, typer.Option("--output", "--out", metavar="FILE", help="Else standard output.")]
HotkeyUri = Annotated[
    str | None,
    typer.Option(
        metavar="URI", help="Sign with a development key such as //Alice instead of the wallet that the settings name."
    ),
]


def assessed(skill_type: SkillType | None) -> SkillType | None:
    """Return the type that an option names (typer.BadParameter: it has no bundles)."""
    if skill_type is SkillType.WORKFLOW:
        raise typer.BadParameter("a workflow has no bundle: write its workflow.json (docs/workflows.md)")
    return skill_type


def group() -> typer.Typer:
    """Return a group without commands; it shows its help where no command follows. `COMMANDS` has its name and help."""
    return typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
