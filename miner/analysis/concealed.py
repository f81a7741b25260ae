"""What a text says where a reader does not look: in titles of links, in styles that hide, backwards, encoded."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from miner.analysis.result import found
from miner.analysis.source import SourceFile
from miner.analysis.spoken import HIDDEN, orders_in
from validator.protocol.sssa import Finding

_LINE: Final = 8_000  # characters of a line that are looked at
_MOST: Final = 200  # concealed texts of one file
_LEAST: Final = 12  # characters
_CONCEALED: Final = (
    ("the text beside a picture", re.compile(r"!\[([^\[\]\n]{12,600})\]\(")),
    ("the title of a link", re.compile(r"\]\([^()\s]{1,400}\s{1,3}[\"']([^\"'\n]{12,600})[\"']\)")),
    (
        "the title of a link",
        re.compile(r"^\s{0,3}\[[^\]\n]{1,80}\]:\s{0,3}\S{1,400}\s{1,3}[\"'(]([^\n]{12,600})[\"')]\s*$"),
    ),
    ("an element's attribute", re.compile(r"\b(?:alt|title|aria-label|data-[a-z-]{1,30})\s?=\s?\"([^\"\n]{12,600})\"")),
    (
        "an element that is not shown",
        re.compile(
            r"<\w{1,12}\s[^<>\n]{0,200}(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0"
            r"|opacity\s?:\s?0(?![.\d])"
            r"|color\s?:\s?(?:white|#fff|transparent)|\bhidden\b)[^<>\n]{0,200}>([^<>\n]{12,2000})"
        ),
    ),
    ("text that is written backwards", re.compile("[\u202e\u202b\u2067]([^\u202c\u2069\n]{12,2000})")),
)
_BASE64: Final = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{40,4000}={0,2}(?![\w+/=-])")
_HEX: Final = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}[ :]?){30,2000}+")
_ROTATED: Final = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)
_SAYS_ROTATED: Final = re.compile(r"\brot[- ]?13\b|\bcaesar\b|\bdecode\b|\bshift(?:ed)? by\b", re.IGNORECASE)
_LEGIBLE: Final = 0.9  # of the characters, in what is decoded


class _Text(NamedTuple):
    what: str
    text: str


def said_out_of_sight(source: SourceFile) -> Iterator[Finding]:
    """Yield a finding per line that says something to a model where no reader sees it."""
    left = _MOST
    rotated = _SAYS_ROTATED.search(source.text) is not None
    for number, line in enumerate(source.lines, start=1):
        for what, text in _texts(line[:_LINE], rotated=rotated):
            left -= 1
            phrase = next(orders_in(text.split("\n"), HIDDEN), None) if left >= 0 else None
            if phrase is not None:
                said = f"What {what} says, and readers do not see, {phrase.family}."
                yield found("prompt_injection", "critical", source.place(number), said, source.path)
                break


def _texts(line: str, *, rotated: bool) -> Iterator[_Text]:
    if len(line) < _LEAST:
        return
    for what, pattern in _CONCEALED:
        for match in pattern.finditer(line):
            said = match[1]
            yield _Text(what, said[::-1] if "backwards" in what else said)
    for pattern, decode in ((_BASE64, _of_base64), (_HEX, _of_hex)):
        for match in pattern.finditer(line):
            if text := decode(match[0]):
                yield _Text("an encoded text", text)
    if rotated:
        yield _Text("a text of shifted letters", line.translate(_ROTATED))


def _of_base64(text: str) -> str:
    padded = text.rstrip("=")
    try:
        return _legible(
            base64.b64decode(padded + "=" * (-len(padded) % 4), altchars=b"-_" if set(padded) & set("-_") else None)
        )
    except (binascii.Error, ValueError):
        return ""


def _of_hex(text: str) -> str:
    try:
        return _legible(bytes.fromhex(text.replace(":", "")))
    except ValueError:
        return ""


def _legible(data: bytes) -> str:
    """Return what is decoded if it is text with words, else nothing."""
    text = data.decode(errors="replace")
    plain = sum(character.isprintable() or character.isspace() for character in text) - text.count("\ufffd")
    return text if " " in text and plain >= _LEGIBLE * len(text) else ""
