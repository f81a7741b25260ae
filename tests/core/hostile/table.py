"""Summary of the kinds of hostility for docs/security.md; `make reference` writes it."""

from pathlib import Path
from typing import Final

from hostile import KINDS

PAGE: Final = Path(__file__).parents[3] / "docs" / "security.md"
_HEAD: Final = ("| subject | kinds | costly ones | end in |", "|---|---|---|---|")
_BEGIN: Final = "<!-- table: hostility -->\n\n"


def rows() -> list[dict[str, str]]:
    """Return a row per subject, by column heading."""
    subjects = {kind.subject: [one for one in KINDS if one.subject == kind.subject] for kind in KINDS}
    return [
        {
            "subject": subject,
            "kinds": str(len(kinds)),
            "costly ones": str(sum(kind.dear for kind in kinds)),
            "end in": ", ".join(f"`{outcome}`" for outcome in sorted({end for one in kinds for end in one.outcomes})),
        }
        for subject, kinds in subjects.items()
    ]


def write() -> None:
    """Write the table after its marker in the page."""
    lines = [*_HEAD, *("| " + " | ".join(each.values()) + " |" for each in rows())]
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    after = rest.lstrip("|").partition("\n\n")[2] if rest.startswith("|") else rest
    PAGE.write_text((before + _BEGIN + "\n".join(lines) + "\n\n" + after).rstrip() + "\n")


if __name__ == "__main__":
    write()
