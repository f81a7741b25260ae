"""A file of a bundle as text or JSON, as every scanner gets it, and the places in it that evidence can name."""

import json
import re
import tomllib
from bisect import bisect_right
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final, TypeVar

import msgspec

from validator.protocol.bundles import count_lines
from validator.protocol.limits import MAX_STRING
from validator.protocol.sssa import EvidenceRefError, parse_evidence_ref
from validator.protocol.strict_json import JsonError, decode_plain

KIB: Final = 1024
MAX_TEXT: Final = 256 * KIB  # bytes of one file that are searched as text
MAX_JSON: Final = 256 * KIB  # a manifest that is larger is not read
_ROOM_FOR_LINES: Final = 64  # a span prefix and a line range
_Rules = TypeVar("_Rules", bound=msgspec.Struct)


@cache
def rules_of(name: str) -> dict[str, Any]:
    """Return one of the scanners' files of rules, `rules/NAME.toml`."""
    return tomllib.loads(files(__package__).joinpath(f"rules/{name}.toml").read_text("utf-8"))


@cache
def rules_as(name: str, form: type[_Rules]) -> _Rules:
    """Return a file of rules as a struct, its patterns compiled."""
    return msgspec.convert(rules_of(name), form, dec_hook=lambda _, text: re.compile(text))


class SourceFile:
    """A file whose name evidence can refer to (see `addressable`)."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = content
        self.line_count = count_lines(content)

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
        """The first `MAX_TEXT` bytes, undecodable ones replaced. Only a line feed ends a line, as in the index."""
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
    """Return the object in the file; None if it is no JSON object, repeats a key, is too deep or too large."""
    try:
        value = decode_plain(source.content, limit=MAX_JSON)
    except JsonError:
        return None
    return value if isinstance(value, dict) else None


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
    if source.suffix == "txt" and re.search(r"requirements|constraints|cmakelists", source.path.lower()):
        return False
    return source.suffix in DOCUMENTS or source.name in _DOCUMENT_NAMES or source.name.lower() in _FOR_AGENTS


def is_for_agents(source: SourceFile) -> bool:
    """Return whether an agent follows the document: a skill, a prompt, the rules of a coding agent."""
    folders = source.path.lower().split("/")[:-1]
    in_folder = source.suffix in ("md", "mdc", "txt") and not _AGENT_FOLDERS.isdisjoint(folders)
    return source.name.lower() in _FOR_AGENTS or source.suffix in ("mdc", "prompt") or in_folder
