"""What `validator tasks retire` and `retired` do: tasks whose truth may be shown (SPEC 16, D-31)."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import typer

from validator.cli.errors import say_no
from validator.cli.output import cell, print_json, print_line
from validator.cli.session import ask_store, change_store
from validator.cli.tables import Column, print_table
from validator.protocol.skill_types import SkillType
from validator.protocol.text import printable
from validator.store import Transaction

_NAME: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")
_MOST_BYTES: Final = 8 * 1024 * 1024


class _Chosen(NamedTuple):
    """What an operator chose; see `RetiredTasks.known`."""

    names: frozenset[str] | None
    skill_types: tuple[SkillType, ...]
    before: datetime | None

    async def found(self, tx: Transaction) -> list[str]:
        """Return the digests of what they came from, of those that are not retired yet."""
        known = await tx.retired.known(self.names, skill_types=self.skill_types, before=self.before)
        retired = await tx.retired.among(known)
        return [one for one in known if one not in retired]


def retire(  # noqa: PLR0913 - each is an option
    names: list[str] | None,
    file: Path | None,
    before: datetime | None,
    skill_types: list[SkillType] | None,
    config: Path | None,
    *,
    yes: bool,
) -> None:
    """Retire tasks of past rounds: public exports show their truth, and this validator never gives them again."""
    chosen = _Chosen(_named(names or [], file), tuple(skill_types or ()), before and before.replace(tzinfo=UTC))
    if chosen == _Chosen(None, (), None):
        raise typer.BadParameter("name tasks, or give --file, --before or --type")
    found = ask_store(config, lambda tx, _: chosen.found(tx))
    if not found and chosen.names is not None:
        say_no("no task of a past round is named that is not retired yet; `validator tasks retired` lists those")
    if not found:
        print_line("no task to retire")
        return
    told = f"{len(found)} {'task' if len(found) == 1 else 'tasks'}"
    if not yes and not _agreed(f"Retire {told}? Their truth becomes public; there is no way back"):
        say_no("nothing was retired; --yes does not ask")
    now = datetime.now(UTC)
    added = change_store(config, lambda tx, _: tx.retired.add(found, now))
    print_line(f"retired: {added}")


def retired(config: Path | None, *, as_json: bool) -> None:
    """List the retired tasks."""
    found = ask_store(config, lambda tx, _: tx.retired.listing())
    if as_json:
        print_json({"retired": [{"source_sha256": sha256, "retired_at": at} for sha256, at in found]})
    elif not found:
        print_line("no retired tasks")
    else:
        print_table((Column("source"), Column("retired")), ((sha256, cell(at)) for sha256, at in found))


def _agreed(question: str) -> bool:
    return sys.stdin.isatty() and typer.confirm(question)


def _named(names: list[str], file: Path | None) -> frozenset[str] | None:
    """Return the ids and digests that are given; None where there are none.

    Raises:
        typer.BadParameter: one is neither.
    """
    lines: list[str] = []
    if file is not None:
        data = file.read_bytes()[: _MOST_BYTES + 1]
        if len(data) > _MOST_BYTES:
            raise typer.BadParameter(f"larger than {_MOST_BYTES} bytes", param_hint="--file")
        lines = [one.strip() for one in data.decode("utf-8", "replace").splitlines()]
    given = [one.lower() for one in (*names, *(one for one in lines if one and not one.startswith("#")))]
    for one in given:
        if not _NAME.fullmatch(one):
            raise typer.BadParameter(f"`{printable(one, 80)}` is no task id (32 hex) and no sha256 (64 hex)")
    return frozenset(given) if names or file is not None else None
