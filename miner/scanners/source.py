"""A file of a bundle as text or JSON, as every scanner gets it, and the places in it that evidence can name.

Text is decoded here alone: scanners get valid UTF-8, or the reason why the file is unread.
"""

import io
import json
import re
import tokenize
import tomllib
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, cached_property
from importlib.resources import files
from posixpath import join, normpath
from typing import Any, Final, TypeVar

import msgspec

from sssa.protocol.bundles import count_lines
from sssa.protocol.limits import MAX_STRING
from sssa.protocol.sssa import EvidenceRefError, parse_evidence_ref
from sssa.protocol.strict_json import JsonError, decode_plain
from sssa.protocol.text import printable

KIB: Final = 1024
MAX_TEXT: Final = 256 * KIB  # bytes of one file that are searched as text
MAX_JSON: Final = 256 * KIB  # a manifest that is larger is not read
_ROOM_FOR_LINES: Final = 64  # a span prefix and a line range
_STRING: Final = r'("(?:[^"\\\n]|\\.)*+"?)'
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?")
_TRAILING: Final = re.compile(rf"{_STRING}|,(?=\s*+[\]}}])")
_Rules = TypeVar("_Rules", bound=msgspec.Struct)


@cache
def rules_of(name: str) -> dict[str, Any]:
    """Return one of the scanners' files of rules, `rules/NAME.toml`."""
    return tomllib.loads(files(__package__).joinpath(f"rules/{name}.toml").read_text("utf-8"))


@cache
def rules_as(name: str, form: type[_Rules]) -> _Rules:
    """Return a file of rules as a struct, its patterns compiled."""
    return msgspec.convert(rules_of(name), form, dec_hook=lambda _, text: re.compile(text))


LANGUAGES: Final = {
    **dict.fromkeys(("py", "pyw"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "tsx", "mts", "cts"), "typescript"),
    **dict.fromkeys(("sh", "bash", "zsh", "ksh", "command"), "bash"),
}
_INTERPRETERS: Final = re.compile(
    r"(?P<python>python[\d.]*w?)|(?P<javascript>node|bun|deno|tsx)|(?P<bash>(?:ba|z|da|k)?sh|source)"
)
_FIRST_LINE: Final = 128  # bytes
_PLAIN: Final = re.compile(r"utf-8(?:-sig)?|(?:us-)?ascii|iso-?8859-\d+|(?:cp|windows-)125\d|koi8-r", re.IGNORECASE)
_FEWEST_NULS: Final = 4  # of so many bytes of UTF-16 or UTF-32 at least one is NUL
_ODD: Final = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_FEW_ODD, _ODD_SHARE = 2, 50  # characters of a text: so many, and one of so many more
_RUN_OF_TEXT: Final = re.compile(rb"[\t\n\r\x20-\x7e]{24,}")
_MEDIA: Final = re.compile(
    rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF|BM|\0\0[\x01\x02]\0|II\*\0|MM\0\*|wOF[2F]|\0\x01\0\0|OTTO|true|ttcf|ID3|\xff[\xf2-\xfb]"
    rb"|OggS|fLaC|\x1aE\xdf\xa3|.{4}ftyp",
    re.DOTALL,
)
_COMPRESSED: Final = re.compile(rb"zTXt|iTXt[^\0]{1,79}\0\x01")  # text of a PNG
_RUN: Final = re.compile(
    r"(?<![\w./-])(python[\d.]*w?|node|bun|deno|tsx|(?:ba|z|da|k)?sh|source|perl|ruby|php|lua|pwsh|osascript|Rscript)"
    r"[\"',\s\[]{1,6}(?:(?:-[\w-]{0,20}|run)[\"',\s]{1,6}){0,4}([\w./-]{1,200})"
    r"|\b(?:exec|eval|execfile|run_path|require|import|import_module|SourceFileLoader|spec_from_file_location|runIn\w*Context)"
    r"\([^\n\"'`]{0,80}[\"'`]([\w./-]{1,200})[\"'`]"
)
_LOADED: Final = frozenset({"json", "css", "scss", "less", "svg", "html"})  # by bundlers, as data
_DISGUISED: Final = re.compile(r"[^\x00-\x7f]|\\u(?:00([3-7][0-9a-fA-F])|\{0{0,4}([3-7][0-9a-fA-F])\})")
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")


def language_named(interpreter: str) -> str:
    """Return the language of the code that an interpreter runs; empty if no scanner parses it."""
    match = _INTERPRETERS.fullmatch(interpreter)
    return str(match.lastgroup) if match is not None else ""


def decoded(raw: bytes, language: str) -> tuple[str, str]:
    """Return the text of a file, and the reason why it is unread: one of the two is empty.

    UTF-16 and UTF-32 are known by their marks or NULs; Python says what it is in; all other text is UTF-8. No
    interpreter reads code in UTF-16: without its NULs it is what they get.
    """
    encoding: str = json.detect_encoding(raw)
    if language or raw.count(0) * _FEWEST_NULS < len(raw):
        encoding = "utf-8-sig"
    if language == "python":
        with suppress(SyntaxError):  # not in UTF-8: the share of what is odd decides
            encoding = tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
        if not _PLAIN.fullmatch(encoding):
            return "", f"declares the encoding {printable(encoding, 40)}"
    text = raw.decode(encoding, "replace")
    if len(_ODD.findall(text)) > _FEW_ODD + len(text) // _ODD_SHARE:
        return "", "is no text in a known encoding"
    return text.replace("\0", ""), ""


def _as_compiled(text: str, language: str) -> str:
    """Return code with its names as the language compares them: no needless escapes, no imitated letters."""
    return text if language == "bash" else _LONE_RETURN.sub("\n", _DISGUISED.sub(_letter, text))


def _letter(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    letter = chr(int(digits, 16)) if digits else unicodedata.normalize("NFKC", match[0])
    return letter if re.fullmatch("[A-Za-z0-9_]", letter) else match[0]


class SourceFile:
    """A file whose name evidence can refer to (see `addressable`).

    Attributes:
        raw: its bytes as they are in the bundle.
        run_by: the interpreter that other files of the bundle run it with, if they do.
    """

    def __init__(self, path: str, raw: bytes, run_by: str = "") -> None:
        self.path = path
        self.raw = raw
        self.run_by = run_by
        self.line_count = count_lines(raw)

    @cached_property
    def language(self) -> str:
        """The language of code that scanners parse; empty for anything else."""
        first = self.raw[:_FIRST_LINE].partition(b"\n")[0].decode("utf-8-sig", "replace")
        words = first[2:].replace("/", " ").split() if first.startswith("#!") else []
        known = next(filter(None, map(language_named, words)), "") or LANGUAGES.get(self.suffix, "")
        return known or language_named(self.run_by)

    @cached_property
    def _decoded(self) -> tuple[str, str]:
        text, reason = decoded(self.raw, self.language)
        return (_as_compiled(text, self.language) if self.language else text), reason

    @property
    def unread(self) -> str:
        """The reason why the file is no text, as a verb phrase; empty for text."""
        return self._decoded[1]

    @property
    def is_media(self) -> bool:
        """True for a picture, a font, a sound or a film, whose texts are not compressed: they are in `text`."""
        is_known = bool(self.unread and not self.language and _MEDIA.match(self.raw))
        return is_known and not _COMPRESSED.search(self.raw)

    @cached_property
    def content(self) -> bytes:
        """The text in UTF-8; the bytes as they are if it is none."""
        return self.raw if self.unread else self._decoded[0].encode("utf-8", "replace")

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """File name extension, lower case; empty without one."""
        return self.name.rpartition(".")[2].lower() if "." in self.name else ""

    @cached_property
    def text(self) -> str:
        """The first `MAX_TEXT` bytes of the text, of other files the runs of text within them.

        Only a line feed ends a line, as in the index.
        """
        if self.unread:
            return b"\n".join(_RUN_OF_TEXT.findall(self.raw.replace(b"\0", b"")))[:MAX_TEXT].decode()
        return self.content[:MAX_TEXT].decode("utf-8", errors="replace")

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines."""
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines[:-1]:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def line_at(self, offset: int) -> int:
        """Return the number, from 1, of the line that holds the text's character `offset`."""
        return bisect_right(self._starts, offset)

    def offset_of(self, line: int) -> int:
        """Return the offset in the text of the first character of line `line`, from 1; the text's end beyond it."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def line_with(self, *needles: str) -> int:
        """Return the first line that holds the first of the needles that occurs at all; 1 if none does."""
        offsets = (self.text.find(needle) for needle in needles if needle)
        return next((self.line_at(offset) for offset in offsets if offset >= 0), 1)

    def place(self, first: int = 1, last: int | None = None) -> str:
        """Return an evidence reference that resolves: lines outside the file are moved to its nearest line."""
        prefix = "b::" if "::" in self.path else ""
        if not self.line_count:
            return prefix + self.path
        first = min(max(first, 1), self.line_count)
        last = min(max(last or first, first), self.line_count)
        return f"{prefix}{self.path}#L{first}-L{last}"


def runs_in(sources: Mapping[str, SourceFile]) -> dict[str, str]:
    """Return the files that others run or load as code although their names say nothing of it, with the program."""
    runs: dict[str, str] = {}
    for source in sources.values():
        folder = source.path.rpartition("/")[0]
        for match in _RUN.finditer("" if source.unread else source.text):
            program, name = match[1] or source.language, (match[2] or match[3]).removesuffix(".")
            near, top = (normpath(join(some, name)) for some in (folder, ""))
            path = near if near in sources else top
            is_data = not match[1] and path.rpartition(".")[2] in _LOADED
            if path in sources and not sources[path].language and not is_data:
                runs.setdefault(path, program)
    return runs


def addressable(path: str) -> bool:
    """Return whether evidence can name the file: the grammar of SPEC 3 (D-1) excludes some names."""
    if len(path) > MAX_STRING - _ROOM_FOR_LINES or "#" in path:
        return False
    try:
        path.encode()
        return parse_evidence_ref(f"b::{path}").path == path
    except (EvidenceRefError, UnicodeEncodeError):
        return False


def read_object(source: SourceFile) -> dict[str, Any] | None:
    """Return the object in the file, comments and trailing commas left out as most readers of settings do.

    None if it is no JSON object, repeats a key, is too deep or too large.
    """
    for content in (source.content, _without_comments(source) if len(source.content) <= MAX_JSON else b""):
        try:
            value = decode_plain(content, limit=MAX_JSON)
        except JsonError:
            continue
        return value if isinstance(value, dict) else None
    return None


def _without_comments(source: SourceFile) -> bytes:
    text = _COMMENT.sub(lambda match: match[1] or " ", source.text)
    return _TRAILING.sub(lambda match: match[1] or "", text).encode("utf-8", "replace")


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; nothing if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def line_of(source: SourceFile, text: str, after: int = 1) -> int:
    """Return the line, not before line `after`, that holds the string `text` as JSON; `after` if none does."""
    start = source.offset_of(after)
    offsets = [source.text.find(json.dumps(text, ensure_ascii=ascii_only), start) for ascii_only in (True, False)]
    return min((source.line_at(offset) for offset in offsets if offset >= 0), default=after)


DOCUMENTS: Final = frozenset({"md", "mdx", "mdc", "markdown", "txt", "rst", "jsonl", "html", "htm", "prompt", "adoc"})
_DOCUMENT_NAMES: Final = frozenset({"METADATA", "PKG-INFO", "README", "SKILL", "PROMPT", "LICENSE"})
_FOR_AGENTS: Final = frozenset(
    {
        *("skill.md", "agents.md", "claude.md", "gemini.md", "copilot-instructions.md", "conventions.md", "warp.md"),
        *(".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".goosehints", ".aider.conf.yml", ".rules"),
        *("rules.md", "prompt.md", "system.md", "instructions.md", "memory.md"),
    }
)
_AGENT_FOLDERS: Final = frozenset(
    {".claude", ".cursor", ".codex", ".gemini", "prompts", "commands", "agents", "skills"}
)


def is_document(source: SourceFile) -> bool:
    """Return whether a model or a reader may be given the file to read."""
    if source.language:
        return False
    if source.suffix == "txt" and re.search(r"requirements|constraints|cmakelists", source.path.lower()):
        return False
    return source.suffix in DOCUMENTS or source.name in _DOCUMENT_NAMES or source.name.lower() in _FOR_AGENTS


def is_for_agents(source: SourceFile) -> bool:
    """Return whether an agent follows the document: a skill, a prompt, the rules of a coding agent."""
    folders = source.path.lower().split("/")[:-1]
    in_folder = source.suffix in ("md", "mdc", "txt") and not _AGENT_FOLDERS.isdisjoint(folders)
    return source.name.lower() in _FOR_AGENTS or source.suffix in ("mdc", "prompt") or in_folder
