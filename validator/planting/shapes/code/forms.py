"""Faults as forms of text in three languages, one of which is drawn."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from validator.planting.shapes.code.markup import Fault, fill
from validator.planting.shapes.code.planter import Maker
from validator.planting.shapes.code.words import Language, Words

Names = Callable[[Words], dict[str, str]]
_CALLS: Final[Mapping[Language, str]] = MappingProxyType(
    {"python": "@run@()", "javascript": "@run@();", "shell": "@run@"}
)


class Form(NamedTuple):
    """One way to write a fault.

    Attributes:
        text: marked up; where it defines `@run@`, that is called.
        imports: as of `Fault`.
    """

    text: str
    imports: tuple[str, ...] = ()


def of(names: Names, *forms: Form, grave: bool = False) -> Maker:
    """Return what makes a fault of one of the forms; its target is the first of the names that is a URL."""

    def make(words: Words) -> Fault:
        drawn = names(words)
        form = words.draws.pick(forms)
        call = fill(_CALLS[words.language], drawn) if "@run@" in form.text else ""
        targets = (value for name, value in drawn.items() if "://" in value[:8] and f"@{name}@" in form.text)
        return Fault(fill(form.text, drawn), call, form.imports, next(targets, ""), grave)

    return make
