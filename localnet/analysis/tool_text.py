"""Descriptions of tools: text that every model reads which the tool is offered to."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from localnet.analysis.injection import find_phrases, plain
from validator.protocol.sssa import Severity


class _Rule(NamedTuple):
    what: str
    severity: Severity
    pattern: re.Pattern[str]


_RULES: Final = (
    _Rule(
        "tells the model to read private files",
        "critical",
        re.compile(
            r"\b(?:read|open|load|cat|fetch|include|attach|pass|send|copy)\b.{0,80}?"
            r"(?:~/\.|\.ssh\b|id_rsa|\.aws\b|\.env\b|/etc/passwd|/etc/shadow|mcp\.json)"
        ),
    ),
    _Rule(
        "asks the model for secrets",
        "critical",
        # What a tool needs a key for is no order to hand one over: "sends it with your API key".
        re.compile(
            r"\b(?:read|open|load|cat|fetch|include|attach|pass|send|copy|put)\b"
            r"(?:(?!\b(?:with|using|by|requires?|needs?)\b).){0,40}?"
            r"\b(?:the|your|their|any|all|users?|stored|saved|known|contents? of)\b[^.]{0,30}?"
            r"\b(?:private keys?|api[ _-]?keys?|credentials?|passwords?)\b[^.]{0,60}?"
            r"\b(?:as|in|into|to|via)\b[^.]{0,40}?"
            r"(?:parameter|argument|field|note|tool|call|context|request|https?:|server|'\w)"
        ),
    ),
    _Rule(
        "makes itself a condition of other work",
        "high",
        re.compile(
            r"\b(?:before|prior to) (?:using|calling|invoking|any|every|each|answering|doing)\b.{0,60}?"
            r"\b(?:tool|call|answer|anything|request)"
            r"|\bmust (?:always )?(?:first )?be (?:called|used|run|invoked) (?:first|before)\b"
            r"|\balways (?:call|use|run|invoke) this (?:tool )?(?:first|before)\b"
        ),
    ),
    _Rule("gives orders in markup", "high", re.compile(r"</?(?:important|system|secret|instructions?|hidden)>")),
    _Rule(
        "passes on what it was not given for",
        "high",
        re.compile(
            r"\b(?:full|entire|whole|complete) (?:conversation|chat|history|context|message history)\b"
            r"|\b(?:conversation|chat) history\b.{0,40}\bparameter"
        ),
    ),
)
_SHADOWING: Final = re.compile(
    r"\b(?:instead of|rather than|do not use|don't use|never use|never call|replaces?|supersedes?|ignore|overrides?)\b"
)
_UNSEEN: Final = re.compile("[\u200b-\u200d\u2060-\u2064\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_WORD: Final = re.compile(r"[\w-]+")
_NEAR: Final = 40  # characters between the word against and the tool's name
_MAX: Final = 20_000  # characters that are read of one description


def faults_of(text: str, own_name: str, other_names: frozenset[str]) -> Iterator[tuple[Severity, str]]:
    """Yield (severity, verb phrase) for everything in a tool's description that is not a description.

    Args:
        text: the description.
        own_name: the tool's.
        other_names: the names of all tools that the server offers.
    """
    text = text[:_MAX]
    if _UNSEEN.search(text):
        yield "high", "holds characters that readers do not see"
    for phrase in find_phrases(text.split("\n")):
        yield "high" if phrase.severity == "medium" else phrase.severity, phrase.family
    said = plain(text)
    for rule in _RULES:
        if rule.pattern.search(said):
            yield rule.severity, rule.what
    others = frozenset(map(plain, other_names - {own_name}))
    if any(others.intersection(_WORD.findall(said, m.end(), m.end() + _NEAR)) for m in _SHADOWING.finditer(said)):
        yield "high", "speaks against another tool of the server"
