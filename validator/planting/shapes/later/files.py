"""New text files, and the line in them that shows the fault."""

from typing import NamedTuple

from validator.planting.draws import Draws
from validator.planting.shape import Files


class Made(NamedTuple):
    """A file that may be made; `shown` stands on the line that a reviewer would point at, and on none above it."""

    path: str
    lines: list[str]
    shown: str


def text_file(made: Made) -> tuple[str, bytes, int]:
    """Return path, content and the line, from 1 on."""
    line = next(i for i, text in enumerate(made.lines, 1) if made.shown in text)
    return made.path, ("\n".join(made.lines) + "\n").encode(), line


def draw_file(draws: Draws, files: Files, *choices: Made) -> tuple[str, bytes, int] | None:
    """Return one of those whose path is free, as `text_file` does; None where none is."""
    free = [one for one in choices if one.path not in files]
    return text_file(draws.pick(free)) if free else None
