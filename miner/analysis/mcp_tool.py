"""A tool as a server offers it, and what is wrong with its description."""

from typing import NamedTuple

from miner.analysis.result import found
from miner.analysis.source import SourceFile, line_of
from miner.analysis.tool_text import faults_of
from validator.protocol.findings import SEVERITIES
from validator.protocol.sssa import Finding
from validator.protocol.text import printable


class Tool(NamedTuple):
    """A tool as the manifest or the server's source offers it.

    Attributes:
        name: as offered.
        texts: the descriptions of the tool and its parameters.
        line: of the offer.
        text_lines: of the texts, in their order; empty if they have to be looked for.
    """

    name: str
    texts: tuple[str, ...]
    line: int
    text_lines: tuple[int, ...] = ()


class Offer(NamedTuple):
    """A tool, and the file that offers it."""

    source: SourceFile
    tool: Tool


def poisoned(offer: Offer, names: frozenset[str]) -> Finding | None:
    """Return one finding for the tool: its worst fault, at the text that has it.

    Args:
        offer: the tool.
        names: of all tools that are offered beside it.
    """
    source, tool = offer
    faults = [
        (SEVERITIES.index(severity), index, what)
        for index, text in enumerate(tool.texts)
        for severity, what in faults_of(text, tool.name, names)
    ]
    if not faults:
        return None
    severity, index, what = min(faults)
    line = tool.text_lines[index] if tool.text_lines else line_of(source, tool.texts[index], tool.line)
    text = f"The description of tool `{printable(tool.name, 80)}` {what}."
    return found("tool_poisoning", SEVERITIES[severity], source.place(line), text, tool.name)
