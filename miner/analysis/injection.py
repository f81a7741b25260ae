"""Phrases that speak to the model instead of the reader: families of prompt injection."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from validator.protocol.sssa import Severity

# Every gap is bounded, so that no pattern takes more than linear time.
_SECRETS = (
    r"(?:conversation|chat history|api[ _-]?keys?|secrets?|credentials?|passwords?|(?:access|auth|session) tokens?"
    r"|system prompt|environment variables?|private keys?|ssh keys?|customer (?:data|records?|details)|\.env|id_rsa)"
)
_AUDIENCE = r"(?:the )?(?:user|users|human|humans|operator|customer|reader|anyone|them|him|her)"
_NOT = r"(?:do not|don't|never|must not|should not)"


class _Family(NamedTuple):
    name: str
    severity: Severity
    pattern: str


_FAMILIES: Final = (
    _Family(
        "overrides earlier instructions",
        "high",
        r"\b(?:ignore|disregard|forget|override|bypass|discard|set aside)\b (?:\w+ ){0,4}?"
        r"(?:(?:previous|prior|above|earlier|preceding|your|system|safety)\b (?:\w+ ){0,3}?"
        r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|restrictions?|safeguards?)"
        r"|(?:all|any|existing|original)\b (?:\w+ ){0,3}?(?:instructions?|prompts?|guidelines?|safeguards?))\b",
    ),
    _Family(
        "gives the model another role",
        "high",
        r"\byou are (?:now|from now on)\b.{0,40}"
        r"\b(?:unrestricted|unfiltered|jailbroken|dan|developer mode|root|admin|administrator|no longer)\b"
        r"|\b(?:enable|enter|activate|switch to) (?:developer|god|dan|jailbreak) mode\b"
        r"|\bpretend (?:that )?you (?:have|are) (?:no|not|without|free)\b"
        r"|\bact as an? (?:unrestricted|unfiltered|uncensored)\b",
    ),
    _Family(
        "hides something from the user",
        "high",
        rf"\b{_NOT} (?:\w+ ){{0,3}}?(?:tell|inform|mention|reveal|alert|notify|disclose|show|warn)\b"
        rf".{{0,60}}? to {_AUDIENCE}\b"
        rf"|\b{_NOT} (?:\w+ ){{0,3}}?(?:tell|inform|alert|notify|warn|ask) {_AUDIENCE}\b"
        rf"|\bwithout (?:\w+ ){{0,2}}?(?:telling|informing|notifying|asking|alerting|warning) {_AUDIENCE}\b"
        rf"|\b(?:keep|hide) (?:this|it|that|these) .{{0,30}}\bfrom {_AUDIENCE}\b"
        r"|\bdo not mention (?:this|that|these|it)\b",
    ),
    _Family(
        "sends data away",
        "high",
        rf"\b(?:send|post|upload|forward|transmit|exfiltrate|e-?mail(?![,;/.)])|leak|relay)\b.{{0,60}}?\b{_SECRETS}\b.{{0,60}}?"
        r"(?:https?://|\bwebhook\b|\b[\w.+-]{1,64}@[\w-]{1,63}\.\w)",
    ),
    _Family(
        "asks for the system prompt",
        "high",
        r"\b(?:reveal|print|repeat|output|show|display|dump|recite)\b.{0,40}?"
        r"\b(?:system prompt|hidden instructions|initial instructions|your (?:own )?instructions|developer message)\b",
    ),
    _Family(
        "imitates the chat's markup",
        "high",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?inst\]|<</?sys>>|</?(?:system|assistant)>"
        r"|^\W{0,4}(?:begin|start|end of) system prompt|^\W{0,4}system ?(?:message|override|note)? ?: ",
    ),
    _Family(
        "makes the model act in silence",
        "medium",
        r"\b(?:silently|secretly|covertly) .{0,60}?\b(?:call|invoke|run|execute|fetch|download|upload|send|post)\b"
        r"|\b(?:call|invoke|run|execute|fetch|download|upload|send|post) .{0,60}?\b(?:silently|secretly|covertly)\b",
    ),
    _Family(
        "speaks to the model that reads it",
        "medium",
        r"\b(?:ai|llm|language model|assistant|agent|model|chatbot)s? (?:that |which |who )?(?:is |are )?"
        r"(?:reading|processing|parsing|summari[sz]ing|indexing|ingesting) (?:this|these)\b"
        r"|\b(?:note|instructions?|attention|message) (?:to|for) (?:the |any |all )?"
        r"(?:ai|llm|language model|assistant|chatbot)s?\b",
    ),
    _Family(
        "claims an authority it has not",
        "medium",
        r"\bthis (?:message|instruction|document) (?:is|comes|was sent) (?:directly )?"
        r"(?:from|by) (?:the |your )?(?:system|administrator|developers?)\b"
        r"|\bnew (?:system )?instructions? ?: |\b(?:admin|administrator|developer|system) override\b",
    ),
)
_COMPILED: Final = tuple((family.name, family.severity, re.compile(family.pattern)) for family in _FAMILIES)
# No family matches without one of these: most text of a bundle is passed over by this one look.
_WORTH_READING: Final = re.compile(
    r"instruct|prompt|rule|guideline|direct|restrict|safeguard|you are|mode\b|pretend|act as|not |n't |never|without"
    r"|keep|hide"
    r"|send|post|upload|forward|transmit|exfil|mail|leak|relay"
    r"|<|\[/?inst|system|silently|secretly|covertly|ing this|ing these|overrid|message|attention|note"
)
_INVISIBLE: Final = {"Cf", "Mn", "Me"}


class Phrase(NamedTuple):
    """A match.

    Attributes:
        family: what the phrase does, a verb phrase.
        severity: how bad it is where a reader can see it.
        first: index of the line where it begins.
        last: index of the line where it ends.
    """

    family: str
    severity: Severity
    first: int
    last: int


def plain(line: str) -> str:
    """Return the line as a model reads it: forms and case folded, invisible characters and runs of blanks gone."""
    if not line.isascii():
        line = unicodedata.normalize("NFKC", line)
        line = "".join(c for c in line if unicodedata.category(c) not in _INVISIBLE)
    return " ".join(line.casefold().replace("*", "").replace("`", "").split())


def find_phrases(lines: list[str]) -> Iterator[Phrase]:
    """Yield the injection phrases in the lines, also those that are broken over two of them."""
    texts = [plain(line) for line in lines]
    for index, text in enumerate(texts):
        following = texts[index + 1] if index + 1 < len(texts) else ""
        joined = f"{text} {following}" if text and following else text
        if _WORTH_READING.search(joined) is None:
            continue
        for family, severity, pattern in _COMPILED:
            match = pattern.search(joined)
            if match and match.start() < len(text):
                yield Phrase(family, severity, index, index + (match.end() > len(text)))
