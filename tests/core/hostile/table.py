"""The table of all kinds of hostility in docs/security.md. `make reference` writes it again."""

from pathlib import Path
from typing import Final

from hostile import KINDS
from hostile.kinds import Kind

PAGE: Final = Path(__file__).parents[3] / "docs" / "security.md"
_HEAD: Final = ("| subject | kind | what it is | dear | ends in |", "|---|---|---|---|---|")
_BEGIN: Final = "<!-- table: hostility -->\n\n"


def row(kind: Kind) -> dict[str, str]:
    """One row, by column heading."""
    return {
        "subject": kind.subject,
        "kind": kind.name,
        "what it is": kind.what.rstrip(".").replace("`", "'").replace("|", "/"),
        "dear": "yes" if kind.dear else "",
        "ends in": ", ".join(f"`{outcome}`" for outcome in sorted(kind.outcomes)),
    }


def rows() -> list[dict[str, str]]:
    return [row(kind) for kind in KINDS]


def write() -> None:
    """Put the table where the page announces it."""
    lines = [*_HEAD, *("| " + " | ".join(each.values()) + " |" for each in rows())]
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    after = rest.lstrip("|").partition("\n\n")[2] if rest.startswith("|") else rest
    PAGE.write_text((before + _BEGIN + "\n".join(lines) + "\n\n" + after).rstrip() + "\n")


if __name__ == "__main__":
    write()
