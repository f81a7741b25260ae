"""Making text that came from outside safe to show."""

import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str, limit: int = 200) -> str:
    r"""Return `text` as one harmless line of at most `limit` code points.

    Control, format (right-to-left marks among them), surrogate, private and unassigned code points and line
    separators are written as `\\uXXXX`; what is longer ends in an ellipsis.
    """
    cut = text[:limit]
    if cut.isascii() and cut.isprintable():
        return cut if len(text) <= limit else cut + "…"
    shown = "".join(c if unicodedata.category(c) not in _UNSAFE else f"\\u{ord(c):04x}" for c in cut)
    return shown if len(text) <= limit else shown + "…"
