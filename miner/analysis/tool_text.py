"""Descriptions of tools: text that every model reads which the tool is offered to."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from miner.analysis.injection import plain
from miner.analysis.spoken import TO_A_MODEL, orders_in
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
            r"\b(?:read|open|load|cat|fetch|include|attach|pass|send|copy|put|use|add|hold|contain|prepend|append"
            r"|fill|give"
            r"|contents? of|text of)\b.{0,80}?"
            r"(?:~/\.|\.ssh\b|id_(?:rsa|ed25519|ecdsa)|\.aws\b|\.env\b|/etc/(?:passwd|shadow)|mcp\.json|\.netrc"
            r"|\.npmrc|\.kube\b)"
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
    _Rule(
        "asks the model for secrets",
        "critical",
        re.compile(
            r"\b(?:must|should|has to|always|also|may only|needs to)\b (?:\w+ ){0,3}?(?:hold|contain|include|carry|be"
            r"|start|end"
            r"|have|bring|quote|name)\b.{0,60}?\b(?:access token|token|passwords?|secrets?|credentials?|cookies?"
            r"|private key"
            r"|api[ _-]?keys?|session|conversation|system prompt|messages?)\b"
            r"|\b(?:passwords?|tokens?|secrets?|keys?|credentials?) (?:included|as well|too)\b"
            r"|\bpass (?:\w+ ){0,3}?(?:user's|user|session|access) (?:\w+ )?(?:tokens?|keys?|passwords?|messages?)\b"
        ),
    ),
    _Rule(
        "speaks against other tools, or for itself",
        "high",
        re.compile(
            r"\b(?:always (?:choose|prefer|pick|use)|prefer|choose|use only) (?:this|the present) (?:one|tool"
            r"|version)\b"
            r"|\b(?:preferred|only valid|official|correct) version\b.{0,30}\b(?:always|choose|use|tool|one)\b"
            r"|\b(?:supersedes?|replaces?) (?:the |every |all |any )?(?:other|older|previous|former) (?:tools?"
            r"|versions?)\b"
            r"|\b(?:which|that|and|it) (?:must|should|may) (?:not|never|no longer) be (?:called|used|trusted|invoked)\b"
            r"|\bcall this (?:one|tool)\b.{0,30}\b(?:first|instead|too|as well|with the same)\b"
            r"|\bwhatever (?:the |a )?(?:user|person|model|assistant|it) (?:says?|asks?|wants?|wrote|said)\b"
            r"|\bas if (?:only|nothing|no)\b"
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
# Another tool is known by its form where this server has none of its name.
_OTHER_TOOL: Final = re.compile(
    r"\b(?:when(?:ever)?|if|before|after|instead of|rather than|never call|do not call|don't call|do not use"
    r"|never use|replaces?"
    r"|results? of|outputs? of|supersedes?"
    r"|once)\b (?:the )?(?:tool )?'?([a-z][a-z0-9]*(?:[_-][a-z0-9]+){1,4})\b'?(?P<rest>[^.]{0,120})"
)
_ABOUT_OTHERS: Final = re.compile(
    r"\b(?:must|always|never|call this|outdated|wrong|unsafe|deprecated|replac|instead|first|again|include|included"
    r"|same arguments)\b"
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
    for phrase in orders_in(text.split("\n"), TO_A_MODEL):
        yield "high" if phrase.severity == "medium" else phrase.severity, phrase.family
    said = plain(text)
    for rule in _RULES:
        if rule.pattern.search(said):
            yield rule.severity, rule.what
    for match in _OTHER_TOOL.finditer(said):
        if match[1] != plain(own_name) and (
            _ABOUT_OTHERS.search(match["rest"]) or match[0].startswith(("never", "do not", "don't", "replace"))
        ):
            yield "high", "says how another tool is to be used"
            break
    others = frozenset(map(plain, other_names - {own_name}))
    if any(others.intersection(_WORD.findall(said, m.end(), m.end() + _NEAR)) for m in _SHADOWING.finditer(said)):
        yield "high", "speaks against another tool of the server"
