"""`task.draft.txt`: what was read of a bundle and where, in plain lines, for whoever decides."""

from collections.abc import Iterable, Iterator
from typing import Final

from miner.drafting.known import Known, Risky
from miner.drafting.packed import Packed
from validator.protocol.sssa import Finding
from validator.protocol.text import printable

_TEXT: Final = 160  # characters of what a bundle says of itself
_TOLD: Final = 400  # of what a model is told of a tool


def draft_page(packed: Packed, known: Known, against: str) -> str:
    """Return the page. Every line is harmless, whatever the bundle holds.

    Args:
        packed: the bundle.
        known: what was read of it.
        against: what its packages were held against, one line.
    """
    lines = [
        f"{packed.skill_type}, {len(packed.files)} files. Read by a program, which ran nothing and asked nobody.",
        "Candidates are what it found; what it did not find can be there all the same.",
        *known.notes,
        *_sections(known, against),
    ]
    return "".join(f"{line}\n" for line in lines)


def _sections(known: Known, against: str) -> Iterator[str]:
    rules = (f"{rule.resource} {rule.action} {_said(rule.pattern)}{_at(place)}" for rule, place in known.rules)
    yield from _section("policy_rules, candidates", rules)
    yield from _section("injections, candidates", map(_said, known.injections))
    yield from _section("shell_commands, candidates", map(_said, known.commands))
    tools = (f"{_said(tool.name)}{_at(tool.place)}: {printable(tool.text, _TOLD) or 'no text'}" for tool in known.tools)
    yield from _section("tools, as mcp.json declares them and code offers them", tools)
    yield from _section("poisoned_tools, candidates", map(_said, known.poisoned))
    yield from _section("findings, candidates", map(_finding, known.findings))
    packages = (f"{_said(one.pinned.package)} {_said(one.pinned.version)}{_risks(one)}" for one in known.risky)
    yield from _section(f"packages with advisories, of {known.packages} that are pinned", packages)
    yield f"  held against {against}"
    yield from _section("hosts in any text", (f"{_said(host.text)}{_at(host.place)}" for host in known.hosts))
    yield from _section("remarks", map(_finding, known.remarks))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    shown = [f"  {line}" for line in lines]
    yield ""
    yield f"{title}: {len(shown) or 'none'}"
    yield from shown


def _risks(one: Risky) -> str:
    said = [
        f"{advisory.id} {advisory.severity or 'not graded'}"
        + ("" if advisory.nameable else ", which no answer can name")
        for advisory in one.advisories
    ]
    return f"{_at(one.pinned.place)}: {'; '.join(said)}"


def _finding(one: Finding) -> str:
    return f"{one.severity} {one.category}{_at(one.evidence_ref)}: {_said(one.description)}"


def _at(place: str) -> str:
    return f" at {printable(place, 4_096)}" if place else ""


def _said(text: str) -> str:
    return printable(text, _TEXT)
