"""The pages of docs/reference, made from the code: `python -m validator.cli.reference [DIR]` writes them.

A test holds them; `make reference` is the short way.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from inspect import getsource
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any, Final, TypeVar

from validator.cli.dispatch import INDEX
from validator.cli.tree import index
from validator.daemon.exits import Exit
from validator.health.alerts import ALERTS
from validator.health.catalogue import CONDITIONS, FATAL, Condition, Unseen
from validator.health.doctor import CHECKS as DOCTOR
from validator.health.report import CHECKS as READY
from validator.protocol.reasons import GATE_NAMES, Reason
from validator.scoring import CURRENT, version
from validator.settings import KeyReference, Settings, reference
from validator.sources import SystemClock
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics

FOLDER: Final = Path("docs/reference")
E = TypeVar("E", bound=Enum)
_WIDTH: Final = 120
_COMMON: Final = 10  # commands that have an option with the same meaning
_NOTE: Final = "<!-- Made from the code by `make reference`; a test holds it. Do not edit. -->"
_COMMENT: Final = re.compile(r"    # (.+?)(?: \(.*)?")  # without the section of the specification behind it
_MEMBER: Final = re.compile(r"    ([A-Z_]+) = .*")


def pages() -> dict[str, str]:
    """Return file name to text of every page."""
    return {
        "commands.md": _page("Commands", _commands()),
        "conditions.md": _page("Conditions and alerts", _conditions()),
        "events.md": _page("Log events", _events()),
        "exit-codes.md": _page("Exit codes", _exits()),
        "metrics.md": _page("Metrics", _metrics()),
        "reasons.md": _page("Reason codes", _reasons()),
        "settings.md": _page("Settings", _settings()),
    }


def write(folder: Path) -> None:
    """Write the pages into `folder`, made where missing, and the index of commands."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
    INDEX.write_text(index_text(), encoding="utf-8")


def index_text() -> str:
    """Return the index of commands, as `dispatch.py` reads it."""
    lines = [f"{json.dumps(path)}: {json.dumps(node)}" for path, node in index().items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


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
    for title, reasons in _parts().items():
        yield f"## {title}"
        if reasons[0].gate:
            rows = [[f"`{reason}`", reason.meaning, _event_of(reason)] for reason in reasons]
            yield _table(["code", "meaning", "reputation event"], rows)
        else:
            yield _table(["code", "meaning"], [[f"`{reason}`", reason.meaning] for reason in reasons])


def _parts() -> Mapping[str, Sequence[Reason]]:
    """Return the reasons by gate, else by the comment of the enum that they stand under."""
    parts: dict[str, list[Reason]] = {}
    for comment, reasons in _by_comment(Reason).items():
        for reason in reasons:
            title = f"Gate {reason.gate}: {GATE_NAMES[reason.gate - 1]}" if reason.gate else comment
            parts.setdefault(title, []).append(reason)
    return parts


def _by_comment(kind: type[E]) -> Mapping[str, Sequence[E]]:
    """Return the members of an enum by the comment that they stand under."""
    parts: dict[str, list[E]] = {}
    part = ""
    for line in getsource(kind).splitlines():
        if comment := _COMMENT.fullmatch(line):
            part = comment[1]
        elif member := _MEMBER.fullmatch(line):
            parts.setdefault(part, []).append(kind[member[1]])
    return parts


def _event_of(reason: Reason) -> str:
    event = version(CURRENT).event_of_failure(reason)
    return f"`{event}`" if event else "none"


def _events() -> Iterator[str]:
    yield _prose(
        "Every line of the log is one event: its name is in `event`, next to `level` and `timestamp` (UTC).",
        "In JSON the fields are keys; `reason` is a [reason code](reasons.md).",
        "What a library says is the event `library`.",
        "More on what to do: [At three in the morning](../operators/three-in-the-morning.md).",
        "Lines of an event that folds are written once an hour where those fields are the same;",
        "`repeats` counts the rest.",
    )
    for title, events in _by_comment(Event).items():
        yield f"## {title}"
        yield _table(["event", "meaning", "what to do", "fields", "folds by"], [_event(event) for event in events])


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


def _settings() -> Iterator[str]:
    yield _prose(
        "Read from `--config FILE`, else `$VALIDATOR_CONFIG`, else `./validator.toml`.",
        "config/validator.toml shows every key with its default. Relative paths start at the working folder.",
        "An environment variable wins over the file; with `_FILE` behind it, it names a file that holds the value.",
    )
    for section, entries in groupby(reference().values(), key=lambda entry: entry.section):
        model: Any = Settings.model_fields[section].annotation
        yield f"## [{section}]"
        yield (model.__doc__ or "").strip()
        yield _table(["key", "meaning", "allowed", "default", "variable"], [_setting(entry) for entry in entries])


def _setting(entry: KeyReference) -> list[str]:
    default = (
        "must be set" if entry.required else "not set" if entry.default is None else f"`{json.dumps(entry.default)}`"
    )
    secret = " Never shown." if entry.secret else ""
    return [f"`{entry.key}`", entry.description + secret, entry.allowed, default, f"`{entry.variable}`"]


def _exits() -> Iterator[str]:
    yield _prose(
        "A command that fails prints one line on standard error: what is wrong, where, and what to do.",
        "`validator run` looks at its hotkey, its store and the chain before anything else and gives up within half a",
        "minute; a supervisor that restarts it in vain shows the same line each time.",
    )
    rows = [[str(int(code)), code.meaning, code.advice or "nothing"] for code in Exit]
    yield _table(["exit code", "meaning", "what to do"], rows)
    parked = [str(int(code)) for code in Exit if code.parks]
    yield _prose(
        f"With {', '.join(parked[:-1])} or {parked[-1]} a restart would end the same way:",
        "[the image's entry point waits](../operators/stop.md#when-the-container-waits-for-you).",
    )


def _conditions() -> Iterator[str]:
    yield _prose(
        "All that can keep the validator from its work. `validator health` and `/readyz` name the active ones",
        "([health and metrics](health.md)), the log says when one begins and ends (`condition_raised`,",
        "`condition_cleared`), and `validator_condition` is 1 meanwhile. An alert asks Prometheus for its conditions",
        "([Prometheus and Grafana](../operators/watch.md#prometheus-and-grafana)): a page wakes somebody, a ticket is",
        "for somebody to look at by day. `validator doctor` finds before a start what can be found then.",
        "[At three in the morning](../operators/three-in-the-morning.md) has events and reasons.",
    )
    yield "## What `/readyz` looks at"
    yield _prose(
        "`checks` in the report has a row for each; it fails while one of its conditions stands. `/readyz` answers 503",
        "then, but for what others can make fail.",
    )
    rows = [
        [f"`{name}`", check.holds, _code(check.conditions), "200" if check.theirs else "503"]
        for name, check in READY.items()
    ]
    yield _table(["check", "holds while passed", "fails by", "`/readyz` then"], rows)
    yield "## What `validator doctor` looks at"
    yield _table(["check", "what is looked at"], [[f"`{check.name}`", check.meaning] for check in DOCTOR])
    yield "## Conditions"
    yield _prose("By the alert that asks for them; those without an alert come last.")
    for alert in ALERTS:
        yield f"### {alert.name}"
        after = f" After {alert.minutes} minutes." if alert.minutes else ""
        yield _prose(f"**{alert.severity.title()}.**{after}", alert.meaning, alert.advice)
        if alert.conditions:
            yield _condition_table(alert.conditions)
    yield "### Notes"
    yield _prose("It was set up to do less: the health is not worse for it.")
    yield _condition_table([one for one in CONDITIONS.values() if not one.alert])
    yield "### Exits"
    yield _prose("The process ends with [an exit code](exit-codes.md) of its own; `ValidatorDown` finds it.")
    yield _condition_table(FATAL.values())


def _condition_table(conditions: Iterable[Condition]) -> str:
    rows = [
        [
            f"`{one.name}`",
            f"fatal: {one.exit_code}" if one.exit_code else one.severity,
            one.meaning,
            one.advice,
            f"{one.watch}{f' (`{one.metric}`)' if one.metric else ''}",
            one.doctor.reason if isinstance(one.doctor, Unseen) else _code(one.checks),
        ]
        for one in conditions
    ]
    return _table(["condition", "severity", "what happened", "what to do", "the daemon", "`doctor`, before"], rows)


def _commands() -> Iterator[str]:
    yield _prose(
        "Errors are lines on standard error, and [the exit code](exit-codes.md) says of which kind they are.",
        "`--json` prints one document on one line: keys in snake_case, numbers in full, times as",
        "`YYYY-MM-DDTHH:MM:SSZ`. Under it an error is one as well:",
        '`{"error": {"exit_code": 3, "message": "…"}}`.',
    )
    commands = {path: command for path, command in index().items() if path}
    records = {path: _records(command) for path, command in commands.items()}
    uses = Counter(record for one in records.values() for record in one)
    common = [record for record, number in uses.items() if number >= _COMMON]
    yield "These options mean the same wherever a command has them:"
    yield _options(common)
    for path, command in commands.items():
        yield f"##{'#' * path.count(' ')} validator {path}"
        yield command["help"]
        if records[path]:
            own = [record for record in records[path] if record not in common]
            shared = _code(record[0].split()[0] for record in records[path] if record in common)
            yield "\n".join(filter(None, [_options(own), f"- also {shared}" * (shared != "none")]))


def _records(command: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the arguments and options of a command, each with its meaning."""
    rows = [row for rows in command.get("parameters", {}).values() for row in rows if row[0] != "--help"]
    return [(left, " ".join(right.split())) for left, right in rows]


def _options(records: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- `{left}`: {right}" for left, right in records)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
