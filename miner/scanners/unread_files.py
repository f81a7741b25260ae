"""Scanner that names what no other reads: other languages, programs, archives, what is no text, or more than is read.

A file is read if its text goes through the rules for prose, or its code through a parser of its language. Of pictures,
fonts, sounds and films the runs of text are read. A bundle with anything else is for a person to review.
"""

import re
from collections import defaultdict
from functools import cache
from typing import Final

from miner.scanners.packages import names_packages
from miner.scanners.scanner import Bundle, Report, new_finding
from miner.scanners.source import MAX_TEXT, SourceFile, rules_of

_PROGRAM: Final = "a compiled program or library"
_TAR: Final = slice(257, 262)
_WINDOWS_HEADER: Final = 0x3C  # where a Windows program says where its own header begins
_NOTEBOOK: Final = "ipynb"
_FIRST_LINE: Final = 128  # bytes
_MAILS: Final = frozenset({"eml", "mbox", "mht", "mhtml", "ics", "vcf"})
_ENCODED: Final = re.compile(
    r"(?im)^(?:content-transfer-encoding:\s{0,3}|[\w;=-]{1,80}encoding=)(?:base64|quoted-printable|b\b)"
)
_NAMED: Final = 32  # files that have a finding each


@cache
def _table(name: str) -> dict[str, str]:
    """Return kinds of unread files by suffix, by the interpreter of a first line, or by first bytes in hexadecimal."""
    return {word: what for what, words in rules_of("unread")[name].items() for word in words.split()}


def _kind_of_start(content: bytes, name: str) -> str:
    return next((what for word, what in _table(name).items() if content.startswith(bytes.fromhex(word))), "")


class Unread:
    """The scanner of what is not read."""

    def scan(self, bundle: Bundle) -> Report:
        """Return a finding for each language, and for each other file, that no scanner reads."""
        of_language: defaultdict[str, list[SourceFile]] = defaultdict(list)
        alone: list[tuple[SourceFile, str]] = []
        for source in bundle.sources.values():
            if language := language_of(source):
                of_language[language].append(source)
            elif reason := _reason(source):
                alone.append((source, reason))
        named = []
        for language, some in sorted(of_language.items()):
            text = f"{len(some)} files are {language}, which is not read: what they do is not known. This is the first."
            named.append((some[0], text))
        named += [(source, f"The file {reason}: it is unread.") for source, reason in alone[:_NAMED]]
        text = f"{len(alone) - _NAMED} more files are unread, this one first."
        named += [(source, text) for source, _ in alone[_NAMED : _NAMED + 1]]
        findings = tuple(new_finding("other", "medium", one.place(), text, one.path) for one, text in named)
        return Report(findings=findings, unread=bool(findings))


def language_of(source: SourceFile) -> str:
    """Return what a file is written in that no analyser reads; empty for what is read, or is no code."""
    content = source.raw
    known = _kind_of_start(content, "programs")
    if known or _is_windows_program(content):
        return known or _PROGRAM
    if content.startswith(b"#!"):
        words = content[:_FIRST_LINE].partition(b"\n")[0].decode("utf-8", "replace").replace("/", " ").split()
        known = next((language for word in words if (language := _table("interpreters").get(word))), "")
        if not known and not source.language:
            return "a program of an unknown interpreter"
    return known or _table("suffixes").get(source.suffix, "") or _table("interpreters").get(source.run_by, "")


def _reason(source: SourceFile) -> str:
    """Return the reason why a file is unread, as a verb phrase; empty if it is read."""
    if source.suffix == _NOTEBOOK:
        return "is a notebook"
    if source.raw[_TAR] == b"ustar":
        return "is an archive"
    known = _kind_of_start(source.raw, "containers")
    if known or source.is_media:
        return f"is {known}" if known else ""
    if source.suffix in _MAILS and _ENCODED.search(source.text):
        return "has parts in an encoding"
    if not source.language and len(source.content) > MAX_TEXT and not names_packages(source):
        return f"is longer than {MAX_TEXT:,} bytes"
    return source.unread


def _is_windows_program(content: bytes) -> bool:
    start = int.from_bytes(content[_WINDOWS_HEADER : _WINDOWS_HEADER + 4], "little")
    return content.startswith(b"MZ") and content[start : start + 4] == b"PE\x00\x00"
