"""Settings read line by line: a key, the keys above it, and its value, in JSON, YAML, TOML, front matter and the like.

No parser is used: the forms are many, and so are the programs that read them. A value may stand on lines of its own
below its key.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from miner.analysis.source import SourceFile

_FRONT_MATTER: Final = frozenset({"md", "mdc"})
_MOST_LINES: Final = 4_000  # of a file that are looked at: lock files and data grant nothing
_LINE: Final = 1_000  # characters of a line
_ABOVE: Final = 12  # levels of keys
_ENTRY: Final = re.compile(
    r"^(\s{0,80})(?:- )?[\"']?([A-Za-z_$@.][\w$@./:-]{0,80})[\"']?\s{0,4}[:=]\s{0,4}(.*?)\s{0,4},?\s{0,4}$"
)
_QUOTED: Final = re.compile(r"^\s{0,80}(?:- )?(?:\"[^\"]*\"|'[^']*')\s{0,4},?\s{0,4}$")
_COMMENT: Final = re.compile(r"\s(?:#|//)\s.{0,400}$|/\*.{0,400}\*/")
_ITEM: Final = re.compile(r"^(\s{0,80})(?:- )?(?:[\"'](.*?)[\"']|([^\"'{}\[\]]+?))\s{0,4},?\s{0,4}$")


class Setting(NamedTuple):
    """One value: on which line, below which keys (joined by dots, lower case, the nearest last)."""

    number: int
    keys: str
    value: str


def settings_of(source: SourceFile) -> Iterator[Setting]:
    """Yield the values of a file of settings with the keys above them, which is told by how far lines are indented."""
    above: list[tuple[int, str]] = []
    for number, line in enumerate(_lines(source), start=1):
        text = line[:_LINE].rstrip()
        text = _COMMENT.sub("", text).rstrip()
        bare = text.strip(" \t,")
        if not bare or bare.startswith(("#", "//", ";")) or len(line) > _LINE:
            continue
        if bare.startswith("[") and bare.endswith("]") and source.suffix in ("toml", "ini", "cfg", "conf"):
            above = [(-1, bare.strip("[]").lower())]
            continue
        indent = len(text) - len(text.lstrip())
        entry = None if _QUOTED.match(text) else _ENTRY.match(text.replace("\t", "    "))
        above = [one for one in above if one[0] < indent][-_ABOVE:]
        if entry is None:
            item = _ITEM.match(text.replace("\t", "    "))
            if item is not None and above:
                yield Setting(number, ".".join(key for _, key in above), (item[2] or item[3] or "").strip())
            continue
        key, value = entry[2].lower().replace("-", "_"), entry[3].strip()
        keys = ".".join([*(one for _, one in above), key])
        above.append((indent, key))
        yield from _parts(number, keys, value)


def _parts(number: int, keys: str, value: str) -> Iterator[Setting]:
    """Yield a value, or those of a list or an object that stands in one line."""
    if value.startswith(("[", "{")):
        for part in value.strip("[]{} ").split(",")[:100]:
            key, colon, inner = part.partition(":")
            if value.startswith("{") and colon:
                yield Setting(number, f"{keys}.{key.strip(chr(34) + chr(39) + ' ').lower()}", inner.strip("\"' []{}"))
            else:
                yield Setting(number, keys, part.strip("\"' "))
        return
    yield Setting(number, keys, value.strip("\"'"))
    if " " in value and not value.startswith(('"', "'")):
        for word in value.split()[:40]:
            yield Setting(number, keys, word.strip("\"',"))


def _lines(source: SourceFile) -> list[str]:
    if source.suffix not in _FRONT_MATTER:
        return source.lines[:_MOST_LINES]
    if not source.text.startswith("---"):
        return []
    end = next((i for i, line in enumerate(source.lines[1:200], start=1) if line.strip() == "---"), 0)
    return source.lines[:end]
