"""Everything that the rules object to in a script, and in the scripts that it hands to a shell as text."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from miner.analysis import shell_tables as tables
from miner.analysis.shell_commands import Command, Script, program_of
from miner.analysis.shell_flow import ShellFlow
from miner.analysis.shell_parser import parse_script
from miner.analysis.shell_reach import reach_of, settings_of
from miner.analysis.shell_rules import Hit, hits_of

_MAX_EMBEDDED: Final = 3  # scripts within scripts


class Objection(NamedTuple):
    """A rule's objection, and the lines of the script that it is about."""

    first: int
    last: int
    hit: Hit


def objections_to(script: Script, depth: int = 0) -> list[Objection]:
    """Return what the rules object to in a script, once for each line and text.

    Args:
        script: that was parsed.
        depth: how many scripts it stands in.
    """
    seen: dict[tuple[int, str, str], Objection] = {}
    for one in _objections(script, depth):
        key = (one.last, one.hit.category, one.hit.text)
        if key not in seen or (one.hit.target and not seen[key].hit.target):
            seen[key] = one
    return list(seen.values())


def _objections(script: Script, depth: int) -> Iterator[Objection]:
    flow = ShellFlow(script)
    for number, pipeline in enumerate(script.pipelines):
        first, last = pipeline[0].line, pipeline[-1].line
        yield from (Objection(first, last, hit) for hit in hits_of(pipeline))
        for step, hit in reach_of(flow, flow.steps(number)):
            yield Objection(step.command.line, step.command.line, hit)
        for command in pipeline if depth < _MAX_EMBEDDED else ():
            for text in _embedded(command):
                inner = parse_script(text, depth=depth + 1)
                yield from (Objection(first, last, one.hit) for one in objections_to(inner, depth + 1))
    yield from (Objection(line, line, hit) for line, hit in settings_of(flow))


def _embedded(command: Command) -> Iterator[str]:
    """Yield the scripts that a shell gets as text: here-documents, here-strings, `-c`, a trap's first word."""
    program, arguments = program_of(command)
    if program == "trap" and len(arguments) > 1 and " " in arguments[0]:
        yield arguments[0]
    if program not in tables.SHELLS:
        return
    yield from (text for sign, text in command.redirects if sign in ("<<", "<<<"))
    if "-c" in arguments[:-1]:
        yield arguments[arguments.index("-c") + 1]
