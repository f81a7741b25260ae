"""Options and arguments that several commands share (`--config`, `--json`, a round, a miner), each declared once."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from sssa.protocol.execution import WorkState
from sssa.protocol.limits import MAX_ROUND_ID
from sssa.protocol.signatures import Signer, is_hotkey
from sssa.protocol.skill_types import SkillType
from sssa.protocol.text import printable

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


# Derivation paths only: a mnemonic would show in the list of processes.
_URI: Final = re.compile(r"(//[A-Za-z0-9_-]{1,64}){1,4}")


def development_signer(uri: str) -> Signer:
    """Return the key of a development URI (typer.BadParameter: it is none)."""
    if not _URI.fullmatch(uri):
        raise typer.BadParameter("must be a derivation path such as //Alice", param_hint="--hotkey-uri")
    return Signer.from_uri(uri)


def checked_hotkeys(hotkeys: Sequence[str] | None, option: str) -> frozenset[str] | None:
    """Return the hotkeys as a set, None for none (typer.BadParameter: one of them is no ss58 address)."""
    for hotkey in hotkeys or ():
        if not is_hotkey(hotkey):
            raise typer.BadParameter(f"{printable(hotkey, 60)} is no ss58 address", param_hint=option)
    return frozenset(hotkeys) if hotkeys else None


def group() -> typer.Typer:
    """Return a group without commands; it shows its help where no command follows. `COMMANDS` has its name and help."""
    return typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
