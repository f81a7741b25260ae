"""The pages of docs/reference, made from the code: `python -m validator.cli.reference` writes them.

A test holds them; `make reference` is the short way.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from inspect import getsource
from pathlib import Path
from textwrap import fill
from typing import Any, Final, TypeVar

from typer.core import TyperGroup

from sssa.cli.lazy_commands import LazyCommand
from sssa.protocol.reasons import GATE_NAMES, Reason
from sssa.scoring import CURRENT, event_of_failure, version
from sssa.sources import SystemClock
from validator.cli.commands import root
from validator.daemon.exits import Exit
from validator.health.alerts import ALERTS, Alert
from validator.health.catalogue import CHECKS, CONDITIONS, FATAL, Condition
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics

FOLDER: Final = Path("docs/reference")
E = TypeVar("E", bound=Enum)
_WIDTH: Final = 120
_NOTE: Final = "<!-- Made from the code by `make reference`; a test holds it. Do not edit. -->"
_COMMENT: Final = re.compile(r"    # (.+?)(?: \(.*)?")  # without the section of the specification behind it
_MEMBER: Final = re.compile(r"    ([A-Z_]+) = .*")


def pages() -> dict[str, str]:
    """Return file name to text of every page."""
    return {
        "commands.md": _page("Commands", _commands()),
        "conditions.md": _page("Conditions, alerts and exit codes", _conditions()),
        "events.md": _page("Log events", _events()),
        "metrics.md": _page("Metrics", _metrics()),
        "reasons.md": _page("Reason codes", _reasons()),
    }


def write(folder: Path) -> None:
    """Write the pages into `folder`, made where missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def _page(title: str, blocks: Iterator[str]) -> str:
    return "\n\n".join([f"# {title}", _NOTE, *blocks]) + "\n"


def _prose(*sentences: str) -> str:
    return fill(" ".join(sentences), _WIDTH, break_long_words=False, break_on_hyphens=False)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([text.replace("|", r"\|") for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _reasons() -> Iterator[str]:
    yield _prose(
        "Every decision has a reason code; logs, metrics, `--json` output and `validator rounds show` use them.",
        "A code that begins with `bug_` names a fault of the validator, never of a miner.",
    )
    rows = [
        [f"`{reason}`", reason.meaning, title, _event_of(reason)]
        for title, reasons in _parts().items()
        for reason in reasons
    ]
    yield _table(["code", "meaning", "about", "reputation event"], rows)


def _parts() -> Mapping[str, Sequence[Reason]]:
    """Return the reasons by gate, else by the comment of the enum that they are under."""
    parts: dict[str, list[Reason]] = {}
    for comment, reasons in _by_comment(Reason).items():
        for reason in reasons:
            title = f"Gate {reason.gate}: {GATE_NAMES[reason.gate - 1]}" if reason.gate else comment
            parts.setdefault(title, []).append(reason)
    return parts


def _by_comment(kind: type[E]) -> Mapping[str, Sequence[E]]:
    """Return the members of an enum by the comment that they are under."""
    parts: dict[str, list[E]] = {}
    part = ""
    for line in getsource(kind).splitlines():
        if comment := _COMMENT.fullmatch(line):
            part = comment[1]
        elif member := _MEMBER.fullmatch(line):
            parts.setdefault(part, []).append(kind[member[1]])
    return parts


def _event_of(reason: Reason) -> str:
    event = event_of_failure(version(CURRENT), reason)
    return f"`{event}`" if event else ""


def _events() -> Iterator[str]:
    yield _prose(
        "Every line of the log is one event: its name is in `event`, next to `level` and `timestamp` (UTC).",
        "In JSON the fields are keys; `reason` is a [reason code](reasons.md).",
        "What a library says is the event `library`.",
        "More on what to do: [At three in the morning](../operators/three-in-the-morning.md).",
        "Lines of an event that folds are written once an hour where those fields are the same;",
        "`repeats` counts the rest.",
    )
    rows = [_event(event) for events in _by_comment(Event).values() for event in events]
    yield _table(["event", "meaning", "what to do", "fields", "folds by"], rows)


def _event(event: Event) -> list[str]:
    return [f"`{event}`", event.meaning, event.todo or "nothing", _code(sorted(event.fields)), _code(event.folds or ())]


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _metrics() -> Iterator[str]:
    yield _prose(
        "What `/metrics` shows ([health and metrics](health.md)).",
        "A histogram `x` has the series `x_bucket`, `x_sum` and `x_count`.",
        "In addition there are the metrics `process_*` of every Prometheus client.",
    )
    described = Metrics(SystemClock(), "").described
    rows = [[f"`{name}`", one.kind, _code(one.labels), one.meaning] for name, one in sorted(described.items())]
    yield _table(["metric", "type", "labels", "meaning"], rows)


def _conditions() -> Iterator[str]:
    yield _prose(
        "Every condition that can stop the validator from working. `validator health` and `/readyz` name the active",
        "ones ([health and metrics](health.md)), the log says when one begins and ends (`condition_raised`,",
        "`condition_cleared`), and `validator_condition` is 1 meanwhile. An alert asks Prometheus for its conditions",
        "([Prometheus and Grafana](../operators/watch.md#prometheus-and-grafana)): a page wakes somebody, a ticket is",
        "for somebody to look at by day. `validator doctor` finds before a start what can be found then.",
        "[At three in the morning](../operators/three-in-the-morning.md) has events and reasons.",
    )
    yield "## Alerts"
    yield "Alerts that ask for conditions are in the last column of the table of conditions."
    rows = [[_named(one), one.meaning, one.advice] for one in ALERTS if not one.conditions]
    yield _table(["alert", "what happened", "what to do"], rows)
    yield "## Conditions"
    yield _prose(
        "In the order of the alerts. A note does not make the health worse: the validator was configured to do less.",
        "A fatal condition ends the process with the exit code given; `ValidatorDown` reports it. While a condition is",
        "active, its check of `/readyz` fails: the answer is 503, or still 200 for what miners can cause.",
    )
    listed = [
        _condition(one, _named(alert) if one is alert.conditions[0] else alert.name)
        for alert in ALERTS
        for one in alert.conditions
    ]
    listed += [_condition(one) for one in (*(one for one in CONDITIONS.values() if not one.alert), *FATAL.values())]
    head = ["condition", "severity", "what happened", "what to do", "in `/readyz`", "the daemon", "`doctor`, before"]
    yield _table([*head, "alert"], listed)
    yield "## Exit codes"
    yield _prose(
        "A command that fails prints one line on standard error: the cause and the fix. `validator run` checks its",
        "hotkey, its store and the chain first, and gives up within about a minute.",
    )
    fatal = {one.exit_code for one in FATAL.values()}
    others = [[str(int(code)), code.meaning, code.advice or "nothing"] for code in Exit if int(code) not in fatal]
    yield _table(["exit code", "meaning", "what to do"], others)
    parked = [str(int(code)) for code in Exit if code.parks]
    yield _prose(
        "The others belong to the fatal conditions above.",
        f"After {', '.join(parked[:-1])} or {parked[-1]} a restart would end the same way:",
        "[the image's entry point waits](../operators/stop.md#when-the-container-waits-for-you).",
    )


def _named(alert: Alert) -> str:
    """Return its name, which links of alerts and dashboards lead to, with its severity."""
    after = f" after {alert.minutes} min" if alert.minutes else ""
    return f'<a id="{alert.name.lower()}"></a>{alert.name}, {alert.severity}{after}'


def _condition(one: Condition, alert: str = "") -> list[str]:
    check = CHECKS.get(one.check)
    return [
        f"`{one.name}`",
        f"fatal: {one.exit_code}" if one.exit_code else one.severity,
        one.meaning,
        one.advice,
        "" if check is None else f"`{one.check}`: {200 if check.theirs else 503}",
        f"{one.watch}{f' (`{one.metric}`)' if one.metric else ''}",
        one.unseen or _code(one.checks),
        alert,
    ]


def _commands() -> Iterator[str]:
    yield _prose(
        "`validator COMMAND --help` describes each argument and option.",
        "Errors are lines on standard error; [the exit code](conditions.md#exit-codes) gives their kind.",
        "`--json` prints one document on one line: keys in snake_case, numbers in full, times as",
        "`YYYY-MM-DDTHH:MM:SSZ`. With it, an error is also a document:",
        '`{"error": {"exit_code": 3, "message": "…"}}`.',
    )
    yield _prose(
        "`--config FILE` names the settings, else `$VALIDATOR_CONFIG`, else `./validator.toml`; every command that",
        "reads them has it.",
    )
    rows = [_command(path, one) for path, one in _commands_below(root(), ())]
    yield _table(["validator …", "purpose", "options"], rows)


def _commands_below(group: Any, path: Sequence[str]) -> Iterator[tuple[Sequence[str], Any]]:
    """Yield the words of every command below a group, and the command itself."""
    for name, member in group.commands.items():
        command = member.load() if isinstance(member, LazyCommand) else member
        if isinstance(command, TyperGroup):
            yield from _commands_below(command, (*path, name))
        else:
            yield (*path, name), command


def _command(path: Sequence[str], command: Any) -> list[str]:
    summary = " ".join(command.help.partition("\n\n")[0].split())
    arguments = [one.display_name_raw for one in command.params if one.param_type_name == "argument"]
    options = [one.opts[0] for one in command.params if one.param_type_name == "option"]
    names = [f"`{name}`" for name in options if name != "--config"]
    return [f"`{' '.join([*path, *arguments])}`", summary, " ".join(names)]


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
