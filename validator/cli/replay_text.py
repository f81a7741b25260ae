"""What `validator replay` prints."""

import sys
from collections import Counter
from dataclasses import asdict, dataclass, field

import typer

from validator.audit.replay import RoundReplay
from validator.cli.output import print_json, print_line


@dataclass(slots=True)
class Summary:
    """Counts what was replayed."""

    verdicts: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)

    @property
    def different(self) -> int:
        """How many rounds differ."""
        return self.verdicts["different"]

    def add(self, replay: RoundReplay) -> None:
        """Count one round."""
        self.verdicts[replay.verdict] += 1
        if replay.state != "settled":
            self.ends[replay.reason or replay.state] += 1
        self.answers.update(asdict(replay.bodies))

    def say(self, *, as_json: bool) -> None:
        """Print the sums: on standard error beside JSON, so that two runs' outputs can be compared."""
        unscored = ", ".join(f"{many} {end}" for end, many in sorted(self.ends.items()))
        lines = [
            f"{self.verdicts.total()} rounds: {self.verdicts['equal']} equal, {self.different} different, "
            f"{self.verdicts['unscored']} without scores" + (f" ({unscored})" if unscored else "")
        ]
        if self.answers["dispatches"]:
            lines.append(f"gates: {bodies_line(**self.answers)}")
        for line in lines:
            typer.echo(line, err=True) if as_json else print_line(line)


def print_replay(replay: RoundReplay, *, as_json: bool) -> None:
    """Print one round: a line of JSON, or for people only what is worth telling."""
    if as_json:
        print_json(replay)
        return
    for difference in replay.differences:
        print_line(f"round {replay.round_id}: {difference}")
    if replay.verdict == "unscored":
        print_line(f"round {replay.round_id}: {replay.state}, {replay.reason or 'not settled yet'}; nothing was scored")
    if replay.bodies.pruned or replay.bodies.too_costly:
        print_line(f"round {replay.round_id}: {bodies_line(**asdict(replay.bodies))}")
    sys.stdout.flush()


def bodies_line(judged: int = 0, pruned: int = 0, too_costly: int = 0, dispatches: int = 0) -> str:
    """Return how many of the answers could go through the gates again, and what kept the others from it."""
    parts = [f"{judged} answers of {dispatches} dispatches judged again"]
    if pruned:
        parts.append(f"answers of {pruned} of {dispatches} dispatches pruned")
    if too_costly:
        parts.append(f"{too_costly} too costly to judge, as stored")
    return ", ".join(parts)
