"""Text that a reader does not see but a model does."""

import re
from collections.abc import Iterator
from typing import Final

from miner.analysis.injection import find_phrases
from miner.analysis.result import found
from miner.analysis.source import SourceFile
from miner.analysis.spoken import HIDDEN, orders_in
from validator.protocol.sssa import Finding

_MAX_COMMENTS: Final = 500
_UNSEEN: Final = re.compile(
    "[\u200b\u2060-\u2064\u180e\u00ad\u034f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_BIDI: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_TAG_BASE: Final = 0xE0000
_TAGS: Final = range(_TAG_BASE, _TAG_BASE + 0x80)
_MANY_TAGS: Final = 4  # fewer occur in flags
_STYLE: Final = re.compile(
    r"color ?: ?(?:white|#fff(?:fff)?|transparent)\b|font-size ?: ?0|display ?: ?none|visibility ?: ?hidden"
    r"|opacity ?: ?0(?![.\d])",
    re.IGNORECASE,
)
_SPEAKS_TO_MODEL: Final = re.compile(
    r"\b(?:assistant|ai|llm|language model|chatbot)\b.{0,200}\b(?:must|should|always|never|please|will|shall)\b",
    re.DOTALL,
)


def hidden_comments(source: SourceFile) -> Iterator[Finding]:
    """Yield a finding for each HTML comment that instructs the model, at the lines that do so."""
    for offset, comment in _comments(source.text):
        start = source.line_at(offset)
        lines = comment.split("\n")
        phrases = list(orders_in(lines, HIDDEN))
        for phrase in phrases:
            place = source.place(start + phrase.first, start + phrase.last)
            text = f"An HTML comment that readers do not see {phrase.family}."
            yield found("prompt_injection", "critical", place, text, source.path)
        if not phrases and _SPEAKS_TO_MODEL.search(comment.casefold()):
            place = source.place(start, start + len(lines) - 1)
            text = "An HTML comment that readers do not see addresses the model."
            yield found("prompt_injection", "high", place, text, source.path)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield (offset, text) of the HTML comments; one that is never closed hides everything after it."""
    end = 0
    for _ in range(_MAX_COMMENTS):
        start = text.find("<!--", end)
        if start < 0:
            return
        end = text.find("-->", start + 4)
        end = len(text) if end < 0 else end
        yield start + 4, text[start + 4 : end]


def invisible_characters(source: SourceFile, *, code: bool) -> Iterator[Finding]:
    """Yield a finding per line that holds invisible or direction-changing characters; in code these are worse."""
    if source.text.isascii():
        return
    for number, line in enumerate(source.lines, start=1):
        unseen = set(_UNSEEN.findall(line[1:] if number == 1 else line))
        if not unseen:
            continue
        place = source.place(number)
        if sum(ord(c) in _TAGS for c in line) >= _MANY_TAGS:
            said = "".join(chr(ord(c) - _TAG_BASE) for c in line if ord(c) in _TAGS)
            severe = any(True for _ in find_phrases([said])) or sum(map(str.isalpha, said)) >= 2 * _MANY_TAGS
            text = "Unicode tag characters spell out text that no reader sees."
            yield found("prompt_injection", "critical" if severe else "high", place, text, source.path)
        elif unseen & _BIDI:
            text = "Bidirectional controls show this line in another order than it is read in."
            yield found("other", "high" if code else "medium", place, text, source.path)
        elif unseen - {"\u00ad", "\ufeff"}:
            text = "Invisible characters stand in this line."
            yield found("other", "medium", place, text, source.path)


def invisible_styles(source: SourceFile) -> Iterator[Finding]:
    """Yield a finding per line whose style hides its text."""
    for number, line in enumerate(source.lines, start=1):
        if "style" in line[:4_000] and (match := _STYLE.search(line[:4_000])):
            text = f"A style hides this text from readers ({match[0]})."
            yield found("other", "medium", source.place(number), text, source.path)
