"""Documents that a model reads, and the gaps between their paragraphs."""

import json
import re
import textwrap
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.shape import Files
from validator.planting.shapes.text.lines import Placed, lines_of, put, text_of
from validator.protocol.skill_types import SkillType

READ_TYPES: Final = frozenset({SkillType.RAG_KNOWLEDGE, SkillType.DECLARATIVE, SkillType.AGENT_COMPOSITION})
_SUFFIXES: Final = frozenset({".md", ".markdown", ".mdx", ".txt"})
_ASIDE: Final = re.compile(
    r"(?:change|history|licen[cs]e|notice|authors|copying|requirements|constraints)", re.IGNORECASE
)
_FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")


class Document(NamedTuple):
    """A text in the bundle; `gaps` are numbers of lines from 0 on, before which a paragraph may stand."""

    path: str
    text: str
    gaps: tuple[int, ...]


def texts_read(files: Files, skill_type: SkillType, suffixes: frozenset[str]) -> list[tuple[str, str]]:
    """Return path and content of what a model gets to read, by path; of a composition that of its children."""
    found = []
    for path in sorted(files):
        name = PurePosixPath(path)
        if name.suffix.lower() in suffixes and not _ASIDE.match(name.name) and _is_read(files, skill_type, name):
            text = text_of(files[path])
            found += [(path, text)] if text else []
    return found


def documents(files: Files, skill_type: SkillType, suffixes: frozenset[str] = _SUFFIXES) -> list[Document]:
    """Return the documents among those texts that have a gap."""
    found = []
    for path, text in texts_read(files, skill_type, suffixes):
        if gaps := _gaps(lines_of(text), markdown=not path.lower().endswith(".txt")):
            found.append(Document(path, text, gaps))
    return found


def all_documents(files: Files) -> list[Document]:
    """Return the bundle's Markdown, whoever reads it; plain texts may be data that a program of the bundle reads."""
    return documents(files, SkillType.RAG_KNOWLEDGE, _SUFFIXES - {".txt"})


def draw_document(draws: Draws, files: Files, skill_type: SkillType, *, markdown: bool = False) -> Document | None:
    """Return one of the documents; None where there is none. With `markdown` plain texts are left out."""
    found = documents(files, skill_type, _SUFFIXES - {".txt"} if markdown else _SUFFIXES)
    return draws.pick(found) if found else None


def paragraph(draws: Draws, document: Document, block: Sequence[str]) -> Placed:
    """Return the document with `block` as a paragraph of its own in a drawn gap."""
    at = draws.pick(document.gaps)
    if at < len(lines_of(document.text)):
        return put(document.text, at, (*block, ""))
    placed = put(document.text, at, ("", *block))
    return placed._replace(line=placed.line + 1)


def wrapped(document: Document, text: str, prefix: str = "") -> list[str]:
    """Return the text in lines as wide as the document's own, each behind `prefix`; one if those are not."""
    widths = [len(line) for line in lines_of(document.text) if line.strip()]
    longest = max(widths, default=0)
    width = longest if 50 <= longest <= 130 and sum(width > longest * 0.65 for width in widths) > 1 else 10_000  # noqa: PLR2004 - columns of a text wrapped by hand
    lines = textwrap.wrap(text, width - len(prefix), break_long_words=False, break_on_hyphens=False)
    return [prefix + line for line in lines]


def _is_read(files: Files, skill_type: SkillType, name: PurePosixPath) -> bool:
    if skill_type is not SkillType.AGENT_COMPOSITION:
        return skill_type in READ_TYPES
    return any(_kind(files, str(parent)) in READ_TYPES for parent in name.parents if str(parent) != ".")


def _kind(files: Files, folder: str) -> str | None:
    try:
        manifest = json.loads(files.get(f"{folder}/manifest.json", b""))
    except (ValueError, RecursionError):
        return None
    return manifest.get("skill_type") if isinstance(manifest, dict) else None


def _gaps(lines: list[str], *, markdown: bool) -> tuple[int, ...]:
    """Return where a paragraph breaks nothing: behind a blank line, outside front matter, fences and comments."""
    gaps, fence, comment, start = [], "", False, 0
    if markdown and lines and lines[0] == "---":
        start = next((i for i, line in enumerate(lines[1:], 2) if line in {"---", "..."}), len(lines))
    for i, line in enumerate(lines):
        if i > start and not fence and not comment and not lines[i - 1].strip() and _begins(line):
            gaps.append(i)
        mark = _FENCE.match(line) if markdown else None
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        if markdown and not fence:
            comment = line.rfind("<!--") > line.rfind("-->") or (comment and "-->" not in line)
    if lines and not fence and not comment:
        gaps.append(len(lines))
    return tuple(gaps)


def _begins(line: str) -> bool:
    """Whether a paragraph begins here: neither a list's next item nor what is indented under one."""
    return bool(line.strip()) and not line.startswith((" ", "\t", "- ", "* ", "+ ")) and not re.match(r"\d+[.)] ", line)
