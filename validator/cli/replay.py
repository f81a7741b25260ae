"""`validator replay`: computes rounds again from their stored inputs and answers, and compares."""

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated

import typer

from sssa.cli.errors import EXIT_NO
from sssa.cli.options import Config, Since
from sssa.cli.output import print_json, print_line
from sssa.cli.rendering import progress
from sssa.protocol.limits import MAX_ROUND_ID
from validator.audit.replay import RoundReplay, replay_rounds
from validator.cli.session import settings_of, use_store
from validator.settings.model import Settings
from validator.store import Store


@dataclass(slots=True)
class Summary:
    """Counts of replayed rounds."""

    verdicts: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)

    @property
    def different(self) -> int:
        """Number of rounds that differ."""
        return self.verdicts["different"]

    def add(self, replay: RoundReplay) -> None:
        """Count one round."""
        self.verdicts[replay.verdict] += 1
        if replay.state != "settled":
            self.ends[replay.reason or replay.state] += 1
        self.answers.update(judged=replay.judged, pruned=replay.pruned)

    def print_sums(self, *, as_json: bool) -> None:
        """Print the sums; with `--json` on standard error, so that the outputs of two runs can be compared."""
        unscored = ", ".join(f"{many} {end}" for end, many in sorted(self.ends.items()))
        lines = [
            f"{self.verdicts.total()} rounds: {self.verdicts['equal']} equal, {self.different} different, "
            f"{self.verdicts['unscored']} without scores" + (f" ({unscored})" if unscored else "")
        ]
        if self.answers.total():
            lines.append(f"gates: {_answers_line(**self.answers)}")
        for line in lines:
            typer.echo(line, err=True) if as_json else print_line(line)


def replay(
    round_id: Annotated[
        int | None, typer.Argument(metavar="[ROUND]", min=0, max=MAX_ROUND_ID, help="One round.")
    ] = None,
    since: Since = None,
    everything: Annotated[bool, typer.Option("--all", help="All rounds.")] = False,
    config: Config = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON document per round, one a line, to compare two runs.")
    ] = False,
) -> None:
    """Compute rounds again from their stored inputs and answers, and compare byte for byte. Exit 1: a difference.

    Nothing is written; a validator may be running.
    """
    if [round_id is not None, since is not None, everything].count(True) != 1:
        raise typer.BadParameter("say which rounds: ROUND, --since ROUND or --all")
    first = since or 0 if round_id is None else round_id
    settings, summary = settings_of(config), Summary()

    async def work(store: Store, _: Settings) -> None:
        async with store.read() as tx:
            ids = await tx.rounds.ids(first)
        if round_id is not None:
            ids = tuple(one for one in ids if one == round_id)
        if not ids and not everything:
            raise typer.BadParameter(f"there is no round {first} in the store; `validator rounds list` shows them")
        with progress("replaying", len(ids)) as advance:
            async for replayed in replay_rounds(store, ids):
                print_replay(replayed, as_json=as_json)
                summary.add(replayed)
                advance()

    use_store(settings, work)
    summary.print_sums(as_json=as_json)
    if summary.different:
        raise typer.Exit(EXIT_NO)


def print_replay(replay: RoundReplay, *, as_json: bool) -> None:
    """Print one round: a line of JSON; for people its difference and how much was not recomputed."""
    if as_json:
        print_json(replay)
        return
    if replay.difference is not None:
        print_line(f"round {replay.round_id}: {replay.difference}")
    if replay.verdict == "unscored":
        print_line(f"round {replay.round_id}: {replay.state}, {replay.reason or 'not settled yet'}; nothing was scored")
    if replay.pruned:
        print_line(f"round {replay.round_id}: {_answers_line(replay.judged, replay.pruned)}")
    sys.stdout.flush()


def _answers_line(judged: int = 0, pruned: int = 0) -> str:
    """Return how many answers passed the gates again, and how many are not stored any more."""
    return f"{judged} answers judged again" + (f", {pruned} pruned" if pruned else "")
