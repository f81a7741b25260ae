"""Conditions around a fault, so that a bundle that is started as usual does what it did."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from validator.planting.shapes.code.markup import GUARD, STEP, Fault
from validator.planting.shapes.code.words import Words


class Form(NamedTuple):
    """How a language spells a condition: its first line, what leaves a function, its last line."""

    opens: str
    leaves: str
    closes: str = ""


class Guarded(NamedTuple):
    """A fault under its condition.

    Attributes:
        body: as of `Fault`, with nothing left to fill in.
        call: likewise.
        imports: what the fault and its condition need.
        inside: the condition stands in the body's function, which is called without one.
    """

    body: str
    call: str
    imports: tuple[str, ...]
    inside: bool = False


def guarded(fault: Fault, words: Words, form: Form, *, inside: bool) -> Guarded:
    """Return the fault under a condition: in its function where that is wanted and possible, else around its call."""
    without = "\n".join(line for line in fault.body.split("\n") if line.strip() != GUARD)
    if not fault.call:
        return Guarded(without, "", fault.imports)
    guard = words.guard(grave=fault.grave)
    imports = (*fault.imports, *guard.imports)
    closes = [form.closes] if form.closes else []
    call = fault.call.strip("\n")
    if inside and GUARD in fault.body and "{1" not in guard.fails:  # a shell's functions have parameters of their own
        lines = [form.opens.format(guard.fails), STEP * 2 + form.leaves, *(STEP + line for line in closes)]
        return Guarded(fault.body.replace(GUARD, "\n".join(lines)), call, imports, inside=True)
    lines = [form.opens.format(guard.holds), *(STEP + line for line in call.split("\n")), *closes]
    return Guarded(without, "\n".join(lines), imports)


def used_in(text: str, imports: Iterable[str]) -> list[str]:
    """Return those of the imports that `text` uses: modules by their first name, bindings by any of theirs."""
    return [one for one in imports if any(re.search(rf"(?<![\w.\"'/]){name}\b", text) for name in _names(one))]


def _names(one: str) -> list[str]:
    return re.findall(r"\w+", one.rpartition(" ")[0] or one.partition(".")[0])
