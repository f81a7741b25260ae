"""How the text of a fault is written down, and how it becomes code in a file's own style.

A fault's text is indented by four spaces, quotes with `"`, and ends statements of JavaScript with `;`. Its marks:

- `@name@`: a word that was drawn;
- `<:...:>`: a type, kept where the file has types;
- `<doc>` at a line's end: a comment, kept where the file has comments;
- `<guard>` alone on a line: the place in a function for a condition on which it goes on;
- `<!>` at a line's end: the line that a reviewer would point at;
- `---` alone on a line: what follows may stand elsewhere in the file.
"""

import re
from typing import Final, NamedTuple

_TYPE: Final = re.compile(r"<:(.*?):>( = )?")
_WORD: Final = re.compile(r"@([a-z_]+)@")
_QUOTED: Final = re.compile(r'"([^"]*)"')
_DOC: Final = " <doc>"
_SINK: Final = " <!>"
CUT: Final = "---"
GUARD: Final = "<guard>"
STEP: Final = "    "


class Fault(NamedTuple):
    """A fault in one language, before it has a place.

    Attributes:
        body: definitions for the top level of a file, marked up; "" where there are none.
        call: statements for the inside of a function, marked up; "" where nothing calls the body.
        imports: what both need: modules of Python (`urllib.request`), bindings and modules of JavaScript
            (`{ exec } child_process`).
        target: the URL that the fault spells out; "" where there is none.
        grave: it would harm the machine of whoever runs it: its condition must not be met by chance.
    """

    body: str = ""
    call: str = ""
    imports: tuple[str, ...] = ()
    target: str = ""
    grave: bool = False


class Style(NamedTuple):
    """How a file is written.

    Attributes:
        indent: one step of it.
        single: strings stand in `'`.
        typed: functions have types.
        documented: functions have comments.
        terminated: statements of JavaScript end with `;`.
    """

    indent: str = STEP
    single: bool = False
    typed: bool = False
    documented: bool = False
    terminated: bool = True


class Block(NamedTuple):
    """Lines for one place of a file.

    Attributes:
        lines: without line ends.
        sink: which of them a reviewer would point at, from 0 on; None for none.
    """

    lines: tuple[str, ...]
    sink: int | None = None


def fill(text: str, words: dict[str, str]) -> str:
    """Return `text` with its drawn words.

    Raises:
        KeyError: it names a word that was not drawn.
    """
    return _WORD.sub(lambda match: words[match[1]], text)


def blocks(text: str, style: Style) -> tuple[Block, ...]:
    """Return what `text` says in the style of a file, in pieces that may stand apart."""
    return tuple(_block(part, style) for part in text.strip("\n").split(f"\n{CUT}\n")) if text else ()


def _block(text: str, style: Style) -> Block:
    lines: list[str] = []
    sink = None
    for raw in text.strip("\n").split("\n"):
        line = raw
        if line.endswith(_DOC):
            if not style.documented:
                continue
            line = line.removesuffix(_DOC)
        if line.endswith(_SINK):
            sink, line = len(lines), line.removesuffix(_SINK)
        lines.append(_styled(line, style))
    return Block(tuple(lines), sink)


def _styled(line: str, style: Style) -> str:
    default = "=" if line.startswith("def ") else " = "
    line = _TYPE.sub(lambda match: _typed(match, style, default), line)
    if style.single and "'" not in line and '\\"' not in line and '"""' not in line:
        line = _QUOTED.sub(r"'\1'", line)
    if not style.terminated and line.endswith(";"):
        line = line[:-1]
    code = line.lstrip(" ")
    return style.indent * ((len(line) - len(code)) // len(STEP)) + code


def _typed(match: re.Match[str], style: Style, default: str) -> str:
    if style.typed:
        return match[1] + (match[2] or "")
    return default if match[2] else ""


def moved_in(block: Block, by: str) -> Block:
    """Return a block that stands deeper by the whitespace `by`."""
    return block._replace(lines=tuple(by + line if line else "" for line in block.lines))
