"""Scanner that names what no other reads: other languages, programs, archives, notebooks, other documents.

They are told apart by their first bytes, then by their names. A bundle that has such files is for a person to review.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from miner.scanners.scanner import Bundle, Report, found
from miner.scanners.source import SourceFile

LANGUAGES: Final = {
    "AppleScript": "applescript scpt",
    "a batch language": "bat cmd",
    "C or C++": "c cc cpp cxx h hpp",
    "C#": "cs csx",
    "Clojure": "clj cljs",
    "Dart": "dart",
    "Elixir or Erlang": "ex exs erl",
    "Go": "go",
    "Groovy": "groovy gradle",
    "Haskell": "hs",
    "Java": "java",
    "Julia": "jl",
    "Kotlin": "kt kts",
    "Lua": "lua",
    "Nim": "nim",
    "Objective-C": "m mm",
    "Perl": "pl pm",
    "PHP": "php phtml",
    "PowerShell": "ps1 psm1",
    "R": "r",
    "Ruby": "rb gemspec",
    "Rust": "rs",
    "Scala": "scala",
    "a page that is a program": "vue svelte astro",
    "Swift": "swift",
    "Tcl": "tcl",
    "Visual Basic": "vb vbs",
    "WebAssembly": "wasm wat",
    "Zig": "zig",
    "compiled Python": "pyc pyo pyd",
    "a compiled program or library": "so dll dylib exe a o node class dex",
}
_OF_SUFFIX: Final = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes.split()}
_OF_INTERPRETER: Final = {
    b"ruby": "Ruby",
    b"perl": "Perl",
    b"php": "PHP",
    b"lua": "Lua",
    b"pwsh": "PowerShell",
    b"Rscript": "R",
    b"osascript": "AppleScript",
    b"tclsh": "Tcl",
    b"julia": "Julia",
    b"awk": "awk",
    b"fish": "fish",
    b"make": "make",
}
_PROGRAM: Final = "a compiled program or library"
_OF_PROGRAM: Final = (
    (b"\x7fELF", _PROGRAM),
    (b"\xfe\xed\xfa\xce", _PROGRAM),
    (b"\xfe\xed\xfa\xcf", _PROGRAM),
    (b"\xce\xfa\xed\xfe", _PROGRAM),
    (b"\xcf\xfa\xed\xfe", _PROGRAM),
    (b"\xca\xfe\xba\xbe", _PROGRAM),
    (b"!<arch>\n", _PROGRAM),
    (b"dex\n", _PROGRAM),
    (b"\x00asm", "WebAssembly"),
    (b"\x1bLua", "Lua"),
)
_OF_CONTAINER: Final = (
    (b"PK\x03\x04", "an archive"),
    (b"\x1f\x8b", "an archive"),
    (b"BZh", "an archive"),
    (b"\xfd7zXZ\x00", "an archive"),
    (b"7z\xbc\xaf\x27\x1c", "an archive"),
    (b"(\xb5/\xfd", "an archive"),
    (b"Rar!\x1a", "an archive"),
    (b"%PDF-", "a document of a format that is not read"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1", "a document of a format that is not read"),
)
_TAR: Final = slice(257, 262)
_WINDOWS_HEADER: Final = 0x3C  # where a Windows program says where its own header begins
_NOTEBOOK: Final = "ipynb"
_FIRST_LINE: Final = 128  # bytes
_NAMED: Final = 32  # files that have a finding each


class Unread:
    """The scanner of what is not read."""

    def scan(self, bundle: Bundle) -> Report:
        """Return a finding for each language, archive, notebook and document that no scanner reads."""
        return _name(bundle.sources.values())


def _name(sources: Iterable[SourceFile]) -> Report:
    of_language: defaultdict[str, list[SourceFile]] = defaultdict(list)
    alone: list[tuple[SourceFile, str]] = []
    for source in sources:
        language = language_of(source)
        container = "" if language else _container(source)
        if language:
            of_language[language].append(source)
        elif container:
            alone.append((source, container))
    findings = []
    for language, files in sorted(of_language.items()):
        text = f"{len(files)} files are {language}, which is not read: what they do is not known. This is the first."
        findings.append(found("other", "medium", files[0].place(), text, files[0].path))
    for source, what in alone[:_NAMED]:
        findings.append(found("other", "medium", source.place(), f"The file is {what}: it is unread.", source.path))
    for source, _ in alone[_NAMED : _NAMED + 1]:
        text = f"{len(alone) - _NAMED} more archives, notebooks and documents are unread, this one first."
        findings.append(found("other", "medium", source.place(), text, source.path))
    return Report(findings=tuple(findings), unread=bool(findings))


def language_of(source: SourceFile) -> str:
    """Return what a file is written in that no analyser reads; empty for what is read, or is no code."""
    content = source.content
    known = next((language for magic, language in _OF_PROGRAM if content.startswith(magic)), "")
    if known or _is_windows_program(content):
        return known or _PROGRAM
    if content.startswith(b"#!"):
        words = content[:_FIRST_LINE].partition(b"\n")[0].replace(b"/", b" ").split()
        known = next((_OF_INTERPRETER[word] for word in words if word in _OF_INTERPRETER), "")
    return known or _OF_SUFFIX.get(source.suffix, "")


def _container(source: SourceFile) -> str:
    if source.suffix == _NOTEBOOK:
        return "a notebook"
    if source.content[_TAR] == b"ustar":
        return "an archive"
    return next((what for magic, what in _OF_CONTAINER if source.content.startswith(magic)), "")


def _is_windows_program(content: bytes) -> bool:
    start = int.from_bytes(content[_WINDOWS_HEADER : _WINDOWS_HEADER + 4], "little")
    return content.startswith(b"MZ") and content[start : start + 4] == b"PE\x00\x00"
