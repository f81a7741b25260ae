"""Lock files of npm, Yarn and pnpm: which package is installed at which version.

Yarn's and pnpm's are read line by line: no YAML loader, so no alias and no tag of theirs means anything.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from miner.analysis.bounds import MAX_LOCK, MAX_LOCKED
from miner.analysis.npm.package_json import Pin
from miner.analysis.source import SourceFile
from validator.protocol.strict_json import JsonError, decode_plain

_VERSION: Final = r"\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+][0-9A-Za-z.+-]{1,40})?"
_NAME: Final = r"(?:@[\w.~-]{1,100}/)?[\w.~-]{1,214}"
_KEY: Final = re.compile(rb'^\s{0,200}"((?:[^"\\]|\\.){1,600})"\s{0,8}:\s{0,8}\{')
_YARN_ENTRY: Final = re.compile(rf'"?({_NAME})@')
_YARN_VERSION: Final = re.compile(rf'  version:? "?({_VERSION})"?\s*$')
_PNPM_ENTRY: Final = re.compile(rf"  ['\"]?/?({_NAME})[@/]({_VERSION})(?:[(_][^:]{{0,400}})?['\"]?:\s*$")
_PACKAGES: Final = "node_modules/"


def pins_of(source: SourceFile) -> tuple[Pin, ...] | None:
    """Return the packages that the lock file names, the first ones; None if it cannot be read."""
    if len(source.content) > MAX_LOCK:
        return None
    pins = READERS[source.name](source)
    return None if pins is None else tuple(pin for pin, _ in zip(pins, range(MAX_LOCKED), strict=False))


def _npm(source: SourceFile) -> Iterator[Pin] | None:
    try:
        document = decode_plain(source.content, limit=MAX_LOCK)
    except JsonError:
        return None
    return _npm_pins(source, document) if isinstance(document, dict) else None


def _npm_pins(source: SourceFile, document: dict[str, Any]) -> Iterator[Pin]:
    """Yield the pins of the flat list of today's files, and of the nested one of old ones."""
    lines = _key_lines(source.content)
    packages = document.get("packages")
    for path, entry in packages.items() if isinstance(packages, dict) else ():
        if path and isinstance(entry, dict):
            yield from _pin(path.rpartition(_PACKAGES)[2], entry, lines.get(path, 1))
    queue = [document.get("dependencies")] if not isinstance(packages, dict) else []
    while queue:
        table = queue.pop()
        for name, entry in table.items() if isinstance(table, dict) else ():
            if isinstance(entry, dict):
                yield from _pin(name, entry, lines.get(name, 1))
                queue.append(entry.get("dependencies"))


def _pin(name: str, entry: dict[str, Any], line: int) -> Iterator[Pin]:
    version = entry.get("version")
    if isinstance(version, str) and re.fullmatch(_VERSION, version) and re.fullmatch(_NAME, name):
        yield Pin(name, version, line)


def _key_lines(content: bytes) -> dict[str, int]:
    """Return the first line of every key that begins an object, as files are written that people read."""
    lines: dict[str, int] = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        match = _KEY.match(line[:1_000])
        if match is not None:
            lines.setdefault(match[1].decode("utf-8", "replace"), number)
    return lines


def _yarn(source: SourceFile) -> Iterator[Pin]:
    name = ""
    for number, line in enumerate(_lines(source), start=1):
        if not line.startswith((" ", "#")):
            entry = _YARN_ENTRY.match(line)
            name, start = (entry[1], number) if entry is not None and line.endswith(":") else ("", number)
        elif name and (version := _YARN_VERSION.match(line)) is not None:
            yield Pin(name, version[1], start)
            name = ""


def _pnpm(source: SourceFile) -> Iterator[Pin]:
    within, known = False, set[tuple[str, str]]()
    for number, line in enumerate(_lines(source), start=1):
        if line and not line.startswith((" ", "#")):
            within = line.rstrip() in ("packages:", "snapshots:")
        entry = _PNPM_ENTRY.match(line) if within else None
        if entry is not None and (entry[1], entry[2]) not in known:
            known.add((entry[1], entry[2]))
            yield Pin(entry[1], entry[2], number)


def _lines(source: SourceFile) -> Iterator[str]:
    for line in source.content.split(b"\n"):
        yield line[:1_000].decode("utf-8", "replace").rstrip("\r")


READERS: Final[dict[str, Callable[[SourceFile], Iterator[Pin] | None]]] = {
    "package-lock.json": _npm,
    "npm-shrinkwrap.json": _npm,
    "yarn.lock": _yarn,
    "pnpm-lock.yaml": _pnpm,
}
