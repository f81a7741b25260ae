"""Scanner that names what no other reads: other languages, programs, archives, notebooks, other documents.

They are told apart by their first bytes, then by their names. A bundle that has such files is for a person to review.
"""

from collections import defaultdict
from functools import cache
from typing import Final, NamedTuple

from miner.scanners.scanner import Bundle, Report, found
from miner.scanners.source import SourceFile, rules_of

_PROGRAM: Final = "a compiled program or library"
_TAR: Final = slice(257, 262)
_WINDOWS_HEADER: Final = 0x3C  # where a Windows program says where its own header begins
_NOTEBOOK: Final = "ipynb"
_FIRST_LINE: Final = 128  # bytes
_NAMED: Final = 32  # files that have a finding each


class _Tables(NamedTuple):
    """Unread files by suffix, by the interpreter of a first line, and by first bytes."""

    of_suffix: dict[str, str]
    of_interpreter: dict[str, str]
    of_program: dict[bytes, str]
    of_container: dict[bytes, str]


@cache
def _tables() -> _Tables:
    data = rules_of("unread")
    words = {name: {word: what for what, said in one.items() for word in said.split()} for name, one in data.items()}
    magic = [{bytes.fromhex(word): what for word, what in words[name].items()} for name in ("programs", "containers")]
    return _Tables(words["suffixes"], words["interpreters"], *magic)


class Unread:
    """The scanner of what is not read."""

    def scan(self, bundle: Bundle) -> Report:
        """Return a finding for each language, archive, notebook and document that no scanner reads."""
        of_language: defaultdict[str, list[SourceFile]] = defaultdict(list)
        alone: list[tuple[SourceFile, str]] = []
        for source in bundle.sources.values():
            if language := language_of(source):
                of_language[language].append(source)
            elif container := _container(source):
                alone.append((source, container))
        told = []
        for language, some in sorted(of_language.items()):
            text = f"{len(some)} files are {language}, which is not read: what they do is not known. This is the first."
            told.append((some[0], text))
        told += [(source, f"The file is {what}: it is unread.") for source, what in alone[:_NAMED]]
        text = f"{len(alone) - _NAMED} more archives, notebooks and documents are unread, this one first."
        told += [(source, text) for source, _ in alone[_NAMED : _NAMED + 1]]
        findings = tuple(found("other", "medium", one.place(), text, one.path) for one, text in told)
        return Report(findings=findings, unread=bool(findings))


def language_of(source: SourceFile) -> str:
    """Return what a file is written in that no analyser reads; empty for what is read, or is no code."""
    content = source.content
    known = next((language for magic, language in _tables().of_program.items() if content.startswith(magic)), "")
    if known or _is_windows_program(content):
        return known or _PROGRAM
    if content.startswith(b"#!"):
        words = content[:_FIRST_LINE].partition(b"\n")[0].decode("utf-8", "replace").replace("/", " ").split()
        known = next((language for word in words if (language := _tables().of_interpreter.get(word))), "")
    return known or _tables().of_suffix.get(source.suffix, "")


def _container(source: SourceFile) -> str:
    if source.suffix == _NOTEBOOK:
        return "a notebook"
    if source.content[_TAR] == b"ustar":
        return "an archive"
    return next((what for magic, what in _tables().of_container.items() if source.content.startswith(magic)), "")


def _is_windows_program(content: bytes) -> bool:
    start = int.from_bytes(content[_WINDOWS_HEADER : _WINDOWS_HEADER + 4], "little")
    return content.startswith(b"MZ") and content[start : start + 4] == b"PE\x00\x00"
