"""Text from outside as Markdown that shows exactly that text (CommonMark with the usual tables and links)."""

import re
from typing import Final

from validator.protocol.text import printable

# Between letters and digits an underscore means nothing; escaping it there would only make the source hard to read.
_MARKS: Final = re.compile(r"[\\`*\[\]<>|~&$@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_AT_START: Final = re.compile(r"\A([#+=-]|[0-9]{1,9}(?=[.)]))")
_BREAKS: Final = re.compile(r"[\s\x1c-\x1f\x85]+")
_SPAN: Final = re.compile(r"[!-_a-~]([ -_a-~]{0,198}[!-_a-~])?")  # printable ASCII but the mark that ends a span


def escaped(text: str, limit: int | None = None) -> str:
    r"""Return `text` as one line of Markdown that renders as the text itself.

    Runs of white space, line breaks among them, become one space; what does not print (control characters, marks of
    direction, zero width) becomes `\\uXXXX`. Headings, lists, HTML, links, images, code, tables and emphasis stay text.

    Args:
        text: anything.
        limit: most code points shown, an ellipsis after them; None for all.
    """
    line = _BREAKS.sub(" ", text).strip()
    shown = printable(line, len(line) if limit is None else limit)
    return _AT_START.sub(_escaped_start, _MARKS.sub(r"\\\g<0>", shown))


def code(text: str) -> str:
    """Return `text` as a code span where that shows all of it as it is, else escaped; not for cells of a table."""
    return f"`{text}`" if _SPAN.fullmatch(text) else escaped(text)


def _escaped_start(match: re.Match[str]) -> str:
    # A number is harmless without the point after it, which is not part of the match.
    return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"
