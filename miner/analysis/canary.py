"""The canary marker of a dispatch (SPEC 5, 13)."""

from collections.abc import Iterable

from miner.analysis.result import Report, found
from miner.analysis.source import SourceFile


def find_canary(sources: Iterable[SourceFile], marker: str | None) -> Report:
    """Report every line that holds `marker`; markers of other dispatches are no concern.

    Args:
        sources: the bundle's files.
        marker: `CANARY-` and 16 hex digits as the nonce gives them; None when the dispatch has no canary.
    """
    if not marker:
        return Report()
    needle = marker.encode()
    return Report(
        findings=tuple(
            found("canary_match", "low", source.place(line), "The marker of this dispatch stands here.", source.path)
            for source in sources
            for line in _lines_with(source.content, needle)
        )
    )


def _lines_with(content: bytes, needle: bytes) -> list[int]:
    lines = []
    at = content.find(needle)
    while at >= 0:
        lines.append(content.count(b"\n", 0, at) + 1)
        at = content.find(b"\n", at)
        at = content.find(needle, at) if at >= 0 else -1
    return lines
