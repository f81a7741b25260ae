"""Candidates for a bundle's truth, each with the place that shows it. Nothing is run."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from miner.advisories import advisories_for as shipped_for
from miner.analysis.analyse import conclude, sources_of
from miner.analysis.bounds import Budget
from miner.analysis.documents import is_document
from miner.analysis.injection import find_phrases
from miner.analysis.links import hosts_in
from miner.analysis.mcp_manifest import MANIFEST, tools_of_manifest
from miner.analysis.mcp_python import offers_of_python
from miner.analysis.mcp_tool import Offer
from miner.analysis.result import Analysis, Use, found
from miner.analysis.script.read import read_scripts
from miner.analysis.source import SourceFile
from miner.drafting.osv import Advisories, Advisory, Pinned, pinned_in
from miner.npm_advisories import TABLE as NPM
from validator.protocol.limits import MAX_STRING
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Finding, Rule
from validator.protocol.vocabulary import RESOURCES
from validator.tasks.layout import MANIFEST as LAYOUT
from validator.tasks.source import TaskError

MAX_SHOWN: Final = 500
"""Candidates of one kind: what is beyond is counted in a note, and left out."""

_ABOUT_NOTHING: Final = frozenset({"other", "canary_match", "dependency_cve"})


class Placed(NamedTuple):
    """A word of the bundle, and the first place that has it; empty for what stands nowhere."""

    text: str
    place: str


class KnownTool(NamedTuple):
    """An MCP tool as a file offers it, with all that a model is told of it."""

    name: str
    place: str
    text: str


class Risky(NamedTuple):
    """A pinned package with its advisories."""

    pinned: Pinned
    advisories: tuple[Advisory, ...]


class Known(NamedTuple):
    """Everything that was read; nothing of it is true because it stands here.

    Attributes:
        rules: of a policy, each with the place of its first use.
        injections: places of orders to a model.
        commands: as execution tracing would show them.
        tools: that mcp.json declares, or code offers.
        poisoned: names of tools whose description gives orders, or that manifest and code do not agree on.
        manifest_sha256: of mcp.json; None without one.
        findings: what is wrong, by category; remarks (`other`) are in `remarks`.
        remarks: what a reader should know, what is unread among it.
        packages: how many are pinned.
        risky: those with advisories.
        hosts: that any text of the bundle spells out.
        notes: what was left out, one line each.
    """

    rules: tuple[tuple[Rule, str], ...]
    injections: tuple[str, ...]
    commands: tuple[str, ...]
    tools: tuple[KnownTool, ...]
    poisoned: tuple[str, ...]
    manifest_sha256: str | None
    findings: tuple[Finding, ...]
    remarks: tuple[Finding, ...]
    packages: int
    risky: tuple[Risky, ...]
    hosts: tuple[Placed, ...]
    notes: tuple[str, ...]


class Bundle(NamedTuple):
    """A bundle that can be read: its files that evidence can name, what is text among them, and what it pins."""

    sources: dict[str, SourceFile]
    texts: tuple[SourceFile, ...]
    pinned: tuple[Pinned, ...]
    unread: int


def readable(files: Mapping[str, bytes]) -> Bundle:
    """Return the bundle.

    Raises:
        TaskError: nothing in it is text, but for the manifest that packing adds.
    """
    sources = sources_of(files)
    texts = tuple(source for source in sources.values() if _is_text(source.content))
    if not any(source.path != LAYOUT and source.content.strip() for source in texts):
        raise TaskError("nothing in the bundle is text in UTF-8: there is nothing to draft from")
    return Bundle(sources, texts, pinned_in(texts), len(files) - len(texts))


def known_of(bundle: Bundle, skill_type: SkillType, advisories: Advisories | None) -> Known:
    """Return what can be read of the bundle.

    Args:
        bundle: from `readable`.
        skill_type: what it is.
        advisories: of what it pins; None for the sample of advisories that is shipped.
    """
    conclusion = conclude(bundle.sources, skill_type)
    analysis = conclusion.analysis
    notes = _Notes()
    risky = tuple(_risky(bundle.pinned, advisories))
    searched = _searched(bundle.texts)
    elsewhere = [f for source in searched if not is_document(source) for f in _orders(source)]
    wrong = [f for f in analysis.findings if f.category not in _ABOUT_NOTHING]
    places = {f.evidence_ref for f in wrong if f.category in ("prompt_injection", "tool_poisoning")}
    wrong += [f for f in elsewhere if f.evidence_ref not in places]
    if bundle.unread:
        notes.lines.append(
            f"{bundle.unread} files are no text in UTF-8, or have names that evidence cannot hold: unread"
        )
    if len(searched) < len(bundle.texts):
        notes.lines.append(
            f"{len(bundle.texts) - len(searched)} files are beyond what is searched for orders and hosts"
        )
    if skill_type is SkillType.MCP_SERVER and analysis.manifest_sha256 is None:
        notes.lines.append(f"no {MANIFEST}: manifest_sha256 stays null")
    return Known(
        rules=notes.cut("rules", _rules(analysis, conclusion.uses)),
        injections=notes.cut("injections", dict.fromkeys(_of(wrong, "prompt_injection"))),
        commands=notes.cut("commands", filter(_fits, analysis.shell_commands)),
        tools=notes.cut("tools", _tools(bundle) if skill_type is SkillType.MCP_SERVER else ()),
        poisoned=notes.cut(
            "poisoned tools", dict.fromkeys(f.target_pattern for f in wrong if f.category == "tool_poisoning")
        ),
        manifest_sha256=analysis.manifest_sha256,
        findings=notes.cut("findings", (f for f in (*wrong, *_advised(risky)) if _fits(f.target_pattern))),
        remarks=notes.cut("remarks", (f for f in analysis.findings if f.category == "other")),
        packages=len(bundle.pinned),
        risky=notes.cut("packages with advisories", risky),
        hosts=notes.cut("hosts", _hosts(searched)),
        notes=tuple(notes.lines),
    )


class _Notes:
    """Cuts lists, and notes what was left out."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def cut(self, what: str, found: Iterable[Any]) -> tuple[Any, ...]:
        some = tuple(found)
        if len(some) > MAX_SHOWN:
            self.lines.append(f"{len(some) - MAX_SHOWN} more {what} were left out")
        return some[:MAX_SHOWN]


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in content


def _fits(text: str) -> bool:
    """Whether a task can hold the text: no lone surrogate, and not too long."""
    return len(text) <= MAX_STRING and not any("\ud800" <= c <= "\udfff" for c in text)


def _rules(analysis: Analysis, uses: Iterable[Use]) -> Iterator[tuple[Rule, str]]:
    resource_of = {capability: name for name, one in RESOURCES.items() for capability in one.capabilities}
    first: dict[tuple[str, str], str] = {}
    for use in uses:
        first.setdefault((resource_of[use.capability], use.pattern or "*"), use.place)
    for rule in analysis.rules:
        if _fits(rule.pattern):
            yield rule, first.get((rule.resource, rule.pattern), "")


def _searched(texts: Iterable[SourceFile]) -> list[SourceFile]:
    """Return the texts that are searched line by line, the smallest first, as far as the bounds of analyses go."""
    budget = Budget()
    return [
        source for source in sorted(texts, key=lambda s: (len(s.content), s.path)) if budget.take_text(len(source.text))
    ]


def _of(findings: Iterable[Finding], category: str) -> Iterator[str]:
    return (finding.evidence_ref for finding in findings if finding.category == category)


def _orders(source: SourceFile) -> Iterator[Finding]:
    """Yield orders to a model in what is no document: there they may be part of the program."""
    for phrase in find_phrases(source.lines):
        place = source.place(phrase.first + 1, phrase.last + 1)
        yield found("prompt_injection", phrase.severity, place, f"A text {phrase.family}.", source.path)


def _tools(bundle: Bundle) -> Iterator[KnownTool]:
    manifest = bundle.sources.get(MANIFEST)
    offers = [Offer(manifest, tool) for tool in tools_of_manifest(manifest) or ()] if manifest else []
    budget = Budget()
    offers += offers_of_python(bundle.texts, budget)
    offers += read_scripts(bundle.texts, budget).offered
    for source, tool in offers:
        yield KnownTool(tool.name, source.place(tool.line), "; ".join(tool.texts))


def _hosts(texts: Iterable[SourceFile]) -> Iterator[Placed]:
    known = set[str]()
    for source in texts:
        for number, line in enumerate(source.lines, start=1):
            fresh = sorted(hosts_in(line) - known) if "://" in line else ()
            known.update(fresh)
            yield from (Placed(host, source.place(number)) for host in fresh)


def _risky(pinned: Iterable[Pinned], advisories: Advisories | None) -> Iterator[Risky]:
    for one in pinned:
        if advisories is not None:
            known = advisories.of.get(one, ())
        else:
            table = {"table": NPM} if one.ecosystem == "npm" else {}
            shipped = shipped_for(one.package, one.version, **table)
            known = tuple(Advisory(advisory.cve, advisory.severity, advisory.summary) for advisory in shipped)
        if known:
            yield Risky(one, known)


def _advised(risky: Iterable[Risky]) -> Iterator[Finding]:
    for pinned, advisories in risky:
        for advisory in islice(filter(lambda one: one.nameable, advisories), MAX_SHOWN):
            text = f"{pinned.package} {pinned.version}: {advisory.summary}"
            finding = found("dependency_cve", advisory.severity or "medium", pinned.place, text, pinned.url)
            yield msgspec.structs.replace(finding, cve_ids=(advisory.id,))
