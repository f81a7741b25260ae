"""Pictures of the command line in docs/pictures: made of lines of text by rich, and read back as lines."""

import io
import re
from collections import defaultdict
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

FOLDER: Final = Path(__file__).parents[2] / "docs" / "pictures"
# What the task in the picture of `validator explain` tells, in this order.
PARTS: Final = ("Why ", "Gates\n", "The group\n", "Consensus ", "Quality ", "Emission ")
_FONTS: Final = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)  # they would be fetched from elsewhere
_LINE: Final = re.compile(r"url\(#picture-line-(\d+)\)")


def picture(lines: list[str], title: str) -> str:
    """The SVG of lines as a terminal shows them, with their colours."""
    text = Text.from_ansi("\n".join(lines))
    width = max(len(line) for line in text.plain.splitlines())
    console = Console(record=True, width=width, file=io.StringIO(), markup=False, highlight=False, emoji=False)
    console.print(text, soft_wrap=True)
    svg = console.export_svg(title=title, code_format=_FONTS.sub("", CONSOLE_SVG_FORMAT), unique_id="picture")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def shown(svg: str) -> list[str]:
    """The lines of text that a picture shows."""
    lines: dict[int, str] = defaultdict(str)
    step = None
    for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        where = _LINE.fullmatch(element.get("clip-path", ""))
        if where is None:
            continue
        text, x = (element.text or "").replace("\u00a0", " "), float(element.get("x", "0"))
        step = step or float(element.get("textLength", "0")) / len(text)
        number = int(where[1])
        lines[number] = lines[number].ljust(round(x / step)) + text
    return [lines[number].rstrip() for number in range(max(lines) + 1)]
