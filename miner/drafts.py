"""Drafts of truth for `validator tasks draft`: what can be read of a packed bundle, and TODO where a person decides."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from miner.analysis import Analysis, bundle_of, conclude, scan
from miner.scanners.osv import Advisories, Advisory, Pinned, shipped_for
from miner.scanners.packages import advised, pinned_in
from miner.scanners.prose import READERS as PROSE_FOR_READERS
from miner.scanners.prose import hosts_by_line, orders_in
from miner.scanners.scanner import Bundle, Use, new_finding
from miner.scanners.servers import MANIFEST, tools_of_manifest
from miner.scanners.source import SourceFile, read_object, string
from sssa.files import new_file, settle
from sssa.protocol.bundles import read_bundle
from sssa.protocol.limits import MAX_STRING
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Finding, Rule
from sssa.protocol.task import TRUTH_OF_AXIS, KnownFinding, Task, Truth
from sssa.protocol.vocabulary import RESOURCE_OF
from sssa.scoring import CURRENT, version
from validator.tasks.folder import (
    BUNDLE_NAME,
    DRAFT_NAME,
    PAGE_NAME,
    TASK_NAME,
    TODO,
    label,
    open_list,
    read_task,
    writing,
)
from validator.tasks.layout import MANIFEST as LAYOUT
from validator.tasks.layout import completed, requirements
from validator.tasks.source import TaskError

MAX_SEARCHED: Final = 1_000  # texts that are searched for orders and hosts
MAX_SHOWN: Final = 500  # candidates of one kind: what is beyond is counted in a note, and left out
_ABOUT_NOTHING: Final = frozenset({"other", "canary_match", "dependency_cve"})


class KnownTool(NamedTuple):
    """An MCP tool as a file offers it, with all that a model is told of it; the name is empty if it is unknown."""

    name: str
    place: str
    text: str


class Known(NamedTuple):
    """Everything that was read; being listed makes none of it true.

    Attributes:
        rules: of a policy, each with the place of its first use.
        commands: as execution tracing would show them.
        tools: that mcp.json declares, or code offers.
        poisoned: names of tools whose description gives orders, or that manifest and code do not agree on.
        findings: what is wrong, by category; remarks (`other`) are in `remarks`.
        remarks: what a reader should know, what is unread among it.
        risky: pinned packages with their advisories.
        hosts: that any text of the bundle spells out, each with its first place.
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
    risky: tuple[tuple[Pinned, tuple[Advisory, ...]], ...]
    hosts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


class Readable(NamedTuple):
    """A bundle that can be read, its texts, and its pins; files that packing added are left out."""

    bundle: Bundle
    texts: tuple[SourceFile, ...]
    pinned: tuple[Pinned, ...]
    unread: int


def readable(files: Mapping[str, bytes], skill_type: SkillType) -> Readable:
    """Return the bundle without a manifest and requirements that `validator tasks pack` wrote itself.

    Raises:
        TaskError: nothing in it is text, but for the manifest that packing adds.
    """
    bundle = bundle_of({path: files[path] for path in files.keys() - _packed(files, skill_type)}, skill_type)
    texts = tuple(source for source in bundle.sources.values() if not source.unread)
    if not any(source.path != LAYOUT and source.content.strip() for source in texts):
        raise TaskError("nothing in the bundle is text: there is nothing to draft from")
    return Readable(bundle, texts, pinned_in(texts), len(files) - len(texts))


def _packed(files: Mapping[str, bytes], skill_type: SkillType) -> set[str]:
    """Return the files that packing added: they say nothing of the skill."""
    rest = {path: content for path, content in files.items() if path not in (LAYOUT, "requirements.txt")}
    made = {path for path in ("requirements.txt",) if files.get(path) == requirements(rest) is not None}
    before = {path: content for path, content in files.items() if path != LAYOUT and path not in made}
    source = SourceFile(LAYOUT, files.get(LAYOUT, b""))
    document = read_object(source) or {}
    if document and document == completed(before, skill_type, string(document.get("name"))):
        made.add(LAYOUT)
    return made


def known_of(given: Readable, advisories: Advisories | None) -> Known:
    """Return what can be read of the bundle; without advisories, the sample that is shipped is used."""
    bundle = given.bundle
    report = scan(bundle)
    analysis = conclude(bundle, report)
    advised_of = shipped_for(given.pinned) if advisories is None else advisories.of
    risky = [(one, advised_of[one]) for one in given.pinned if advised_of.get(one)]
    searched = given.texts[:MAX_SEARCHED]
    elsewhere = [f for source in searched if source.language for f in _orders(source)]
    wrong = [f for f in analysis.findings if f.category not in _ABOUT_NOTHING]
    places = {f.evidence_ref for f in wrong if f.category in ("prompt_injection", "tool_poisoning")}
    wrong += [f for f in elsewhere if f.evidence_ref not in places]
    notes = []
    if given.unread:
        notes.append(f"{given.unread} files are no text, have odd names, or were written by packing: unread")
    if len(searched) < len(given.texts):
        notes.append(f"{len(given.texts) - len(searched)} files are beyond what is searched for orders and hosts")
    is_server = bundle.parts[-1].skill_type is SkillType.MCP_SERVER
    if is_server and analysis.manifest_sha256 is None:
        notes.append(f"no {MANIFEST}: manifest_sha256 stays null")
    manifest = bundle.sources.get(MANIFEST)
    tools = [*(tools_of_manifest(manifest) or () if manifest else ()), *report.tools] if is_server else []
    lists: dict[str, list[Any]] = {
        "rules": list(_rules(analysis, report.uses)),
        "injections": list(dict.fromkeys(f.evidence_ref for f in wrong if f.category == "prompt_injection")),
        "commands": list(filter(_fits, report.commands)),
        "tools": [KnownTool(one.name, one.source.place(one.line), "; ".join(one.texts)) for one in tools],
        "poisoned": list(dict.fromkeys(f.target_pattern for f in wrong if f.category == "tool_poisoning")),
        "findings": [
            f for f in (*wrong, *(advised(pin, one) for pin, some in risky for one in some)) if _fits(f.target_pattern)
        ],
        "remarks": [f for f in analysis.findings if f.category == "other"],
        "risky": risky,
        "hosts": list(_hosts(searched)),
    }
    for name, some in lists.items():
        if len(some) > MAX_SHOWN:
            notes.append(f"{len(some) - MAX_SHOWN} more {name} were left out")
    return Known(
        manifest_sha256=analysis.manifest_sha256,
        packages=len(given.pinned),
        notes=tuple(notes),
        **{name: tuple(some[:MAX_SHOWN]) for name, some in lists.items()},
    )


def _fits(text: str) -> bool:
    """Return whether a task can hold the text: no lone surrogate, and not too long."""
    return len(text) <= MAX_STRING and not any("\ud800" <= c <= "\udfff" for c in text)


def _rules(analysis: Analysis, uses: Iterable[Use]) -> Iterator[tuple[Rule, str]]:
    first: dict[tuple[str, str], str] = {}
    for use in uses:
        first.setdefault((RESOURCE_OF[use.capability], use.pattern or "*"), use.place)
    for rule in analysis.rules:
        if _fits(rule.pattern):
            yield rule, first.get((rule.resource, rule.pattern), "")


def _orders(source: SourceFile) -> Iterator[Finding]:
    """Yield orders to a model in code: there they may be part of the program."""
    for phrase in orders_in(source.lines, PROSE_FOR_READERS):
        place = source.place(phrase.first + 1, phrase.last + 1)
        yield new_finding("prompt_injection", phrase.severity, place, f"A text {phrase.what}.", source.path)


def _hosts(texts: Iterable[SourceFile]) -> Iterable[tuple[str, str]]:
    places: dict[str, str] = {}
    for source in texts:
        for line, host in hosts_by_line(source):
            places.setdefault(host, source.place(line))
    return places.items()


# -- the input: a task's folder ----------------------------------------------------------------------------------------


class Packed(NamedTuple):
    """A packed task and its bundle's files."""

    task: Task
    files: dict[str, bytes]


def read_packed(folder: Path, *, replace: bool) -> Packed:
    """Return the task in the folder; `replace`: an existing draft or truth may be passed over.

    Raises:
        TaskError: nothing to draft from, or somebody decided something before.
    """
    if not (folder / BUNDLE_NAME).exists():
        raise TaskError(f"`{label(folder)}` holds no {BUNDLE_NAME}: make its task first (`validator tasks pack`)")
    if (folder / DRAFT_NAME).exists() and not replace:
        raise TaskError(f"`{label(folder)}` holds a draft already, in which somebody may have decided: --replace it")
    sourced = read_task(folder)
    if sourced.task.truth is not None and not replace:
        raise TaskError(f"{TASK_NAME} has a truth, which somebody decided: --replace makes a draft next to it")
    return Packed(sourced.task, read_bundle(sourced.bundle))


# -- the draft: task.draft.json ----------------------------------------------------------------------------------------

_SHORT: Final = 2  # fields of an object that is in one line, as windows and canary do


def draft_document(packed: Packed, known: Known) -> dict[str, Any]:
    """Return `task.draft.json`: a task of version 1.1. A field that the type is not scored by is null.

    Verdict and risks are a person's: no candidate is given, so that truth is not what the reference miner says.
    """
    axes = {name for name, _ in version(CURRENT).rules.types[packed.task.skill_type].axes}
    scored = {field for axis, field in TRUTH_OF_AXIS.items() if axis in axes}
    known_fields: dict[str, Any] = {
        "policy_rules": open_list([msgspec.to_builtins(rule) for rule, _ in known.rules]),
        "injections": open_list([*known.injections]),
        "reference_risk": TODO,
        "shell_commands": open_list([*known.commands]),
        "manifest_sha256": known.manifest_sha256,
        "poisoned_tools": open_list([*known.poisoned]),
        "transitive_risk": TODO,
    }
    truth = {
        "verdict": TODO,
        **{field: known_fields[field] if field in scored else None for field in known_fields},
        "findings": open_list([_finding(one) for one in known.findings]),
    }
    return {
        "task_version": "1.1",
        "skill_type": packed.task.skill_type.value,
        "windows": msgspec.to_builtins(packed.task.windows),
        "bundle_sha256": packed.task.bundle_sha256,
        "provenance": "curated",
        "truth": {field: truth[field] for field in Truth.__struct_fields__ if field in truth},
        "canary": msgspec.to_builtins(packed.task.canary),
    }


def write_draft(folder: Path, document: dict[str, Any], page: str) -> None:
    """Write `task.draft.json` and `task.draft.txt`: both, or nothing.

    Raises:
        TaskError: they cannot be written; what was there is left.
    """
    files = {DRAFT_NAME: _lines(document).encode() + b"\n", PAGE_NAME: page.encode()}
    with writing(folder), ExitStack() as stack:
        for name, content in files.items():
            stream = stack.enter_context(new_file(folder / name, mode=None, replace=True))
            stream.write(content)
            settle(stream)


def _lines(value: Any, margin: str = "") -> str:
    """Return JSON with a line for each field and each entry of a list, to be edited.

    In ASCII: nothing of a bundle turns the text around, or hides in it, where somebody decides.
    """
    inner = f"{margin}  "
    if isinstance(value, dict) and len(value) > _SHORT:
        fields = [f"{inner}{json.dumps(name)}: {_lines(one, inner)}" for name, one in value.items()]
        return "{\n" + ",\n".join(fields) + f"\n{margin}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{inner}{json.dumps(one)}" for one in value) + f"\n{margin}]"
    return json.dumps(value)


def _finding(one: Finding) -> Any:
    """Return a candidate as a truth names it; its kind is its category until somebody says better."""
    known = (one.category, one.severity, one.evidence_ref, one.cve_ids, one.target_pattern)
    return msgspec.to_builtins(KnownFinding(*known, kind=one.category)) | {"cve_ids": [*one.cve_ids]}


# -- the page: task.draft.txt ------------------------------------------------------------------------------------------


def draft_page(packed: Packed, known: Known, against: str) -> str:
    """Return everything that was read with its place; a line of JSON in ASCII each, so that every line is harmless."""
    lines = [
        f"{packed.task.skill_type}, {len(packed.files)} files. Read by a program, which ran nothing and asked nobody.",
        "Candidates are what it found; what it did not find can be there all the same.",
        f"{known.packages} packages are pinned, compared with {against}.",
        *known.notes,
    ]
    for name, some in known._asdict().items():
        if isinstance(some, tuple) and name != "notes":
            lines += ["", f"{name}: {len(some)}", *(f"  {json.dumps(msgspec.to_builtins(one))}" for one in some)]
    return "".join(f"{line}\n" for line in lines)
