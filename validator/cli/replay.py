"""`validator replay`: computes rounds again from their stored inputs and answers, and compares."""

import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Annotated

import typer

from validator.audit.replay.batches import replay_rounds
from validator.audit.replay.round_replay import RoundReplay
from validator.cli.errors import EXIT_NO
from validator.cli.options import Config, Since
from validator.cli.output import print_json, print_line
from validator.cli.rendering import progress
from validator.cli.session import ask_store, settings_of
from validator.protocol.limits import MAX_ROUND_ID


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
        self.answers.update(asdict(replay.bodies))

    def say(self, *, as_json: bool) -> None:
        """Print the sums; with `--json` on standard error, so that the outputs of two runs can be compared."""
        unscored = ", ".join(f"{many} {end}" for end, many in sorted(self.ends.items()))
        lines = [
            f"{self.verdicts.total()} rounds: {self.verdicts['equal']} equal, {self.different} different, "
            f"{self.verdicts['unscored']} without scores" + (f" ({unscored})" if unscored else "")
        ]
        if self.answers["dispatches"]:
            lines.append(f"gates: {_bodies_line(**self.answers)}")
        for line in lines:
            typer.echo(line, err=True) if as_json else print_line(line)


def replay(  # noqa: PLR0913, PLR0917 - each is an option of the command
    round_id: Annotated[
        int | None, typer.Argument(metavar="[ROUND]", min=0, max=MAX_ROUND_ID, help="One round.")
    ] = None,
    since: Since = None,
    everything: Annotated[bool, typer.Option("--all", help="All rounds.")] = False,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
    config: Config = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON document per round, one a line: digests, to compare two runs.")
    ] = False,
) -> None:
    """Compute rounds again from their stored inputs and answers, and compare byte for byte. Exit 1: a difference.

    Nothing is written; a validator may be running.
    """
    if [round_id is not None, since is not None, everything].count(True) != 1:
        raise typer.BadParameter("say which rounds: ROUND, --since ROUND or --all")
    first = since or 0 if round_id is None else round_id
    settings = settings_of(config)
    ids = ask_store(settings, lambda tx, _: tx.rounds.ids(first))
    if round_id is not None:
        ids = tuple(found for found in ids if found == round_id)
    if not ids and not everything:
        raise typer.BadParameter(f"there is no round {first} in the store; `validator rounds list` shows them")
    summary = Summary()
    url = settings.store.url.get_secret_value()
    with progress("replaying", len(ids)) as advance:
        for replayed in replay_rounds(url, ids, jobs):
            print_replay(replayed, as_json=as_json)
            summary.add(replayed)
            advance()
    summary.say(as_json=as_json)
    if summary.different:
        raise typer.Exit(EXIT_NO)


def print_replay(replay: RoundReplay, *, as_json: bool) -> None:
    """Print one round: a line of JSON; for people its differences, and what was not computed."""
    if as_json:
        print_json(replay)
        return
    for difference in replay.differences:
        print_line(f"round {replay.round_id}: {difference}")
    if replay.verdict == "unscored":
        print_line(f"round {replay.round_id}: {replay.state}, {replay.reason or 'not settled yet'}; nothing was scored")
    if replay.bodies.pruned or replay.bodies.too_costly:
        print_line(f"round {replay.round_id}: {_bodies_line(**asdict(replay.bodies))}")
    sys.stdout.flush()


def _bodies_line(judged: int = 0, pruned: int = 0, too_costly: int = 0, dispatches: int = 0) -> str:
    """Return how many of the answers passed the gates again, and what kept the others from it."""
    parts = [f"{judged} answers of {dispatches} dispatches judged again"]
    if pruned:
        parts.append(f"answers of {pruned} of {dispatches} dispatches pruned")
    if too_costly:
        parts.append(f"{too_costly} too costly to judge, as stored")
    return ", ".join(parts)
