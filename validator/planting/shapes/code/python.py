"""Puts a fault into a Python module, or into a new one beside it."""

import re
from collections.abc import Sequence
from typing import Final

from validator.planting.draws import Draws
from validator.planting.shapes.code.guards import Form, Guarded, guarded, used_in
from validator.planting.shapes.code.markup import Block, Fault, blocks, moved_in
from validator.planting.shapes.code.python_module import Module
from validator.planting.shapes.code.source import Placed, Put, Source, alone, placed
from validator.planting.shapes.code.words import Words

_FORM: Final = Form("if {}:", "return")
_DEFINED: Final = re.compile(r"^(?:def )?(\w+)(?: =|\()", re.MULTILINE)
_TITLES: Final = (
    "Small helpers.",
    "Helpers that several parts share.",
    "Support functions.",
    "What does not fit elsewhere.",
)


def put(source: Source, fault: Fault, words: Words) -> Placed | None:
    """Return a Python file with `fault` in it; None where it does not parse, or has no place for it."""
    module = Module.parse(source)
    if module is None:
        return None
    draws = words.draws
    apart = bool(module.siblings(words.paths)) and draws.number(0, 2) == 0
    ready = guarded(fault, words, _FORM, inside=draws.number(0, 1) == 1 and (apart or bool(module.functions)))
    if not module.takes(ready.imports):
        return None
    if apart:
        return _apart(module, ready, words)
    puts = _definitions(draws, module, blocks(ready.body, module.style), first=ready.inside)
    puts.extend(_calls(draws, module, blocks(ready.call, module.style)))
    return placed(source, [*module.head_space(module.imports(ready.imports)), *puts])


def _definitions(draws: Draws, module: Module, parts: Sequence[Block], *, first: bool) -> list[Put]:
    places = module.top_places()
    puts = []
    for part in parts:
        if not _defines(part) and module.last_import():
            puts.append(Put(module.last_import(), alone(part, 1, 0)))
        elif places:
            at = places[0] if first else draws.pick(places)
            above = min(module.source.blank_above(at), 2) or 2
            puts.append(Put(at, alone(part, 0 if module.source.blank_above(at) or not at else above, above)))
        else:
            puts.append(Put(len(module.source.lines), alone(part, 2, 0)))
    return puts


def _defines(block: Block) -> bool:
    return any(line.startswith(("def ", "class ")) for line in block.lines)


def _calls(draws: Draws, module: Module, parts: Sequence[Block]) -> list[Put]:
    if parts and module.functions:
        at, space = draws.pick(module.calls(draws.pick(module.functions)))
        return [Put(at, moved_in(part, space)) for part in parts]
    return [Put(len(module.source.lines), alone(part, 1, 0)) for part in parts]


def _apart(module: Module, ready: Guarded, words: Words) -> Placed:
    """Return the fault in a module of its own, which the file imports as it imports another."""
    source, style, draws = module.source, module.style, words.draws
    end, prefix = draws.pick(module.siblings(words.paths))
    name = words.file()
    path = f"{source.path.rpartition('/')[0]}/{name}.py".lstrip("/")
    head = (f'"""{draws.pick(_TITLES)}"""',) if style.documented else ()
    needed = tuple(f"import {one}" for one in sorted(set(used_in(ready.body, ready.imports))))
    parts = [(1, Block(lines)) for lines in (head, needed) if lines]
    parts.extend((2 if _defines(block) else 1, block) for block in blocks(ready.body, style))
    puts = [Put(0, alone(block, above if number else 0, 0)) for number, (above, block) in enumerate(parts)]
    content, line = Source(path, (), source.newline, ended=True).with_lines(puts)
    defined = _DEFINED.findall(ready.body)
    wanted = [one for one in defined if re.search(rf"\b{one}\b", ready.call)] or defined[:1]
    link = Put(end, Block((f"from {prefix}{name} import {', '.join(sorted(set(wanted)))}",)))
    calls = _calls(draws, module, blocks(ready.call, style))
    old, _ = source.with_lines([*module.imports(used_in(ready.call, ready.imports)), link, *calls])
    return Placed({source.path: old, path: content}, path, line)
