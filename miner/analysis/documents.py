"""Prompts, documents and JSON lines: what they tell the model, openly and out of sight."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from miner.analysis.bounds import Budget
from miner.analysis.concealed import said_out_of_sight
from miner.analysis.hidden_text import hidden_comments, invisible_characters, invisible_styles
from miner.analysis.links import hosts_in, suspicious_links
from miner.analysis.result import BEYOND, Report, Use, found
from miner.analysis.secret_scan import secrets_in
from miner.analysis.source import SourceFile
from miner.analysis.spoken import HIDDEN, OPEN, TO_A_MODEL, orders_in
from validator.protocol import vocabulary as cap
from validator.protocol.sssa import Finding
from validator.protocol.strict_json import JsonError, decode_plain

SUFFIXES: Final = frozenset({"md", "markdown", "txt", "rst", "jsonl", "html", "htm", "prompt"})
_NAMES: Final = frozenset({"METADATA", "PKG-INFO", "README", "SKILL", "PROMPT"})
_RULE_FILES: Final = frozenset(
    {
        *("agents.md", "claude.md", "gemini.md", "copilot-instructions.md", "conventions.md", "warp.md", "rules.md"),
        *(".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".goosehints", ".aider.conf.yml", ".rules"),
    }
)
_NEEDLESS: Final = re.compile(r"\\u00[2-7][0-9a-fA-F]")  # an escape of what needs none
_MAX_JSON_LINE: Final = 64 * 1024
_MAX_STRINGS: Final = 2_000  # of one JSON line


def is_document(source: SourceFile) -> bool:
    """Whether a model may be given the file to read."""
    return source.suffix in SUFFIXES or source.name in _NAMES or _for_models(source)


def _for_models(source: SourceFile) -> bool:
    """Whether the file is read by a coding agent as its rules."""
    return source.name.lower() in _RULE_FILES or source.suffix == "mdc"


def read_documents(sources: Iterable[SourceFile], budget: Budget, *, content: bool) -> Report:
    """Return what the documents hold.

    Args:
        sources: the files to read, in order.
        budget: bounds how much is read.
        content: whether the documents are the skill itself (rag_knowledge, declarative): then the hosts that they
            point to are of interest for the policy.
    """
    findings: list[Finding] = []
    uses: list[Use] = []
    for source in sources:
        if not budget.take_text(len(source.text)):
            findings.append(found("other", "medium", source.place(), BEYOND, source.path))
            continue
        findings += _findings_in(source)
        if content:
            uses += [Use(cap.LINKS, place, host) for place, host in _hosts(source)]
    return Report(findings=tuple(findings), uses=tuple(uses))


def _findings_in(source: SourceFile) -> Iterator[Finding]:
    if "\x00" in source.text or "\ufffd" in source.text:
        yield found("other", "low", source.place(), "The document is not plain UTF-8 text.", source.path)
    if source.truncated:
        yield found("other", "medium", source.place(), BEYOND, source.path)
    yield from hidden_comments(source)
    yield from invisible_characters(source, code=False)
    if source.suffix not in ("html", "htm"):
        yield from invisible_styles(source)
    yield from said_out_of_sight(source)
    orders = list(orders_in(source.lines, TO_A_MODEL if _for_models(source) else OPEN))
    told = {source.place(line + 1) for order in orders for line in range(order.first, order.last + 1)}
    yield from (link for link in suspicious_links(source) if link.evidence_ref not in told)
    yield from secrets_in(source)
    for phrase in orders:
        place = source.place(phrase.first + 1, phrase.last + 1)
        yield found("prompt_injection", phrase.severity, place, f"The text {phrase.family}.", source.path)
    if source.suffix == "jsonl":
        yield from _escaped_phrases(source)


def _escaped_phrases(source: SourceFile) -> Iterator[Finding]:
    r"""Yield the phrases that show only once a JSON line's escapes (`\u0069gnore`) are undone."""
    for number, line in enumerate(source.lines, start=1):
        if "\\" not in line:
            continue
        try:
            record = decode_plain(line.encode(), limit=_MAX_JSON_LINE)
        except JsonError:
            continue
        strings = [part for text in _strings(record) for part in text.split("\n")]
        for phrase in orders_in(strings, HIDDEN if _NEEDLESS.search(line) else OPEN):
            text = f"A value {phrase.family}."
            yield found("prompt_injection", phrase.severity, source.place(number), text, source.path)


def _strings(value: Any) -> list[str]:
    texts: list[str] = []
    queue = [value]
    while queue and len(texts) < _MAX_STRINGS:
        item = queue.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            queue += item.values()
        elif isinstance(item, list):
            queue += item
    return texts


def _hosts(source: SourceFile) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(source.lines, start=1):
        if "://" in line:
            for host in sorted(hosts_in(line)):
                yield source.place(number), host
