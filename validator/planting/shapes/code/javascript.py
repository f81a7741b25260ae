"""Puts a fault into a JavaScript or TypeScript module, or into a new one beside it."""

import re
from collections.abc import Sequence
from typing import Final

from validator.planting.draws import Draws
from validator.planting.shapes.code.guards import Form, Guarded, guarded, used_in
from validator.planting.shapes.code.javascript_module import Script
from validator.planting.shapes.code.markup import Block, Fault, blocks, moved_in
from validator.planting.shapes.code.source import Placed, Put, Source, alone, placed
from validator.planting.shapes.code.words import Words

_FORM: Final = Form("if ({}) {{", "return;", "}")
_DEFINED: Final = re.compile(r"^(?:(?:async )?function|const) (\w+)", re.MULTILINE)


def put(source: Source, fault: Fault, words: Words) -> Placed | None:
    """Return a JavaScript or TypeScript file with `fault` in it.

    None where its brackets do not end, or it has no place for the fault.
    """
    script = Script.read(source)
    if script is None:
        return None
    missing = script.missing(fault.imports)
    places = script.top_places()
    if missing is None or not places:
        return None
    draws = words.draws
    apart = bool(script.siblings(words.paths)) and draws.number(0, 2) == 0
    called = any(map(script.calls, script.functions))
    ready = guarded(fault, words, _FORM, inside=draws.number(0, 1) == 1 and (apart or called))
    if apart:
        return _apart(script, ready, words)
    puts = [script.imports(missing)] if missing else []
    for part in blocks(ready.body, script.style):
        at = places[0] if ready.inside or not _is_function(part) else draws.pick(places)
        puts.append(Put(at, alone(part, 0 if source.blank_above(at) or not at else 1, 1)))
    puts.extend(_calls(draws, script, blocks(ready.call, script.style)))
    return placed(source, puts)


def _is_function(part: Block) -> bool:
    return any(line.startswith(("function ", "async function ")) for line in part.lines)


def _calls(draws: Draws, script: Script, parts: Sequence[Block]) -> list[Put]:
    functions = [at for at in script.functions if script.calls(at)]
    if parts and functions:
        at, space = draws.pick(script.calls(draws.pick(functions)))
        return [Put(at, moved_in(part, space)) for part in parts]
    return [Put(len(script.source.lines), alone(part, 1, 0)) for part in parts]


def _apart(script: Script, ready: Guarded, words: Words) -> Placed:
    """Return the fault in a module of its own, which the file imports as it imports another."""
    source, style, draws = script.source, script.style, words.draws
    end, written = draws.pick(script.siblings(words.paths))
    name = words.file()
    folder, suffix = source.path.rpartition("/")[0], source.path[source.path.rindex(".") :]
    path = f"{folder}/{name}{suffix}".lstrip("/")
    defined = _DEFINED.findall(ready.body)
    wanted = [one for one in defined if re.search(rf"\b{one}\b", ready.call)] or defined[:1]
    names = ", ".join(sorted(set(wanted)))
    exports = f"export {{ {names} }};" if script.esm else f"module.exports = {{ {names} }};"
    needed = [script.import_line(one) for one in used_in(ready.body, ready.imports)]
    parts = [*blocks("\n".join(needed), style), *blocks(ready.body, style), *blocks(exports, style)]
    puts = [Put(0, alone(part, 1 if number else 0, 0)) for number, part in enumerate(parts)]
    content, line = Source(path, (), source.newline, ended=True).with_lines(puts)
    where = f'"./{name}{written}"'
    link = f"import {{ {names} }} from {where};" if script.esm else f"const {{ {names} }} = require({where});"
    link_and_calls = [Put(end, blocks(link, style)[0]), *_calls(draws, script, blocks(ready.call, style))]
    return Placed({source.path: source.with_lines(link_and_calls)[0], path: content}, path, line)
