"""Prompts, documents and JSON lines: what they tell the model, openly and out of sight."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from localnet.analysis.abroad import find_orders_abroad
from localnet.analysis.bounds import Budget
from localnet.analysis.hidden_text import hidden_comments, invisible_characters, invisible_styles
from localnet.analysis.injection import Phrase, find_phrases, plain
from localnet.analysis.links import hosts_in, suspicious_links
from localnet.analysis.orders import find_orders
from localnet.analysis.result import BEYOND, Report, Use, found
from localnet.analysis.secret_scan import secrets_in
from localnet.analysis.sentences import paragraphs
from localnet.analysis.source import SourceFile
from validator.protocol import vocabulary as cap
from validator.protocol.sssa import Finding
from validator.protocol.strict_json import JsonError, decode_plain

SUFFIXES: Final = frozenset({"md", "markdown", "txt", "rst", "jsonl", "html", "htm", "prompt"})
_NAMES: Final = frozenset({"METADATA", "PKG-INFO", "README", "SKILL", "PROMPT"})
_MAX_JSON_LINE: Final = 64 * 1024
_MAX_STRINGS: Final = 2_000  # of one JSON line


def is_document(source: SourceFile) -> bool:
    """Whether a model may be given the file to read."""
    return source.suffix in SUFFIXES or source.name in _NAMES


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
    orders = list(_orders(source.lines))
    told = {source.place(line + 1) for order in orders for line in range(order.first, order.last + 1)}
    yield from (link for link in suspicious_links(source) if link.evidence_ref not in told)
    yield from secrets_in(source)
    for phrase in orders:
        place = source.place(phrase.first + 1, phrase.last + 1)
        yield found("prompt_injection", phrase.severity, place, f"The text {phrase.family}.", source.path)
    if source.suffix == "jsonl":
        yield from _escaped_phrases(source)


def _orders(lines: list[str]) -> Iterator[Phrase]:
    """Yield what speaks to a model: stock phrases, and sentences without one that no stock phrase stands in."""
    told: set[int] = set()
    for phrase in find_phrases(lines):
        told.update(range(phrase.first, phrase.last + 1))
        yield phrase
    said = list(paragraphs([plain(line) for line in lines]))
    for phrase in (*find_orders(said), *find_orders_abroad(said)):
        if told.isdisjoint(range(phrase.first, phrase.last + 1)):
            told.update(range(phrase.first, phrase.last + 1))
            yield phrase


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
        for phrase in find_phrases(strings):
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
