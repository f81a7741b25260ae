"""Which parts of a document decide how it is written: those that can hold numbers, or keys of a stranger's.

Everything else (texts, null, true and false, names of fields) msgspec's sorted encoder writes as RFC 8785 has it.
"""

from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Struct, inspect

from validator.protocol import typed

_ALIKE = (inspect.NoneType, inspect.BoolType, inspect.StrType, inspect.EnumType)
_SEQUENCES = (inspect.ListType, inspect.VarTupleType)


@cache
def is_plain(kind: type[Struct]) -> bool:
    """Whether documents of this class are written as objects with all fields that are set under their own names.

    A tag is one more text.
    """
    config = kind.__struct_config__
    own_names = kind.__struct_fields__ == kind.__struct_encode_fields__
    return own_names and not isinstance(config.tag, int) and not config.array_like and not config.omit_defaults


def shallow(document: Struct) -> dict[str, Any]:
    """Return a document's fields: as they are where it is plain, else as they are written."""
    kind = type(document)
    if not is_plain(kind) or kind.__struct_config__.tag is not None:
        fields: dict[str, Any] = msgspec.to_builtins(document)
        return fields
    fields = msgspec.structs.asdict(document)
    if _may_be_unset(kind):
        return {name: value for name, value in fields.items() if value is not UNSET}
    return fields


@cache
def deciding(kind: type[Struct]) -> Callable[[Struct], tuple[Any, ...]]:
    """Return what takes those parts out of a document of this class, which is plain."""
    found = _struct(kind)
    paths = kind.__struct_fields__ if found is None else tuple(_paths(found, ""))
    if not paths:
        return lambda _: ()
    taken = attrgetter(*paths)
    return taken if len(paths) > 1 else lambda document: (taken(document),)


def _struct(kind: type[Struct]) -> inspect.StructType | None:
    """Return what is known of a class; nothing of one that nothing is ever decoded to."""
    try:
        found = typed.info(kind)
    except TypeError:
        return None
    return found if isinstance(found, inspect.StructType) else None


def _paths(info: inspect.StructType, within: str) -> Iterator[str]:
    """Yield the dotted paths of the deciding parts, down to where a document has several forms or may have nothing."""
    for field in info.fields:
        path = within + field.name
        if field.required and isinstance(field.type, inspect.StructType) and is_plain(field.type.cls):
            yield from _paths(field.type, f"{path}.")
        elif _decides(field.type):
            yield path


def _decides(info: inspect.Type) -> bool:
    if isinstance(info, _SEQUENCES):
        return _decides(info.item_type)
    match info:
        case inspect.UnionType(types=types):
            return any(map(_decides, types))
        case inspect.LiteralType(values=values):
            return not all(isinstance(value, str) for value in values)
        case inspect.StructType(cls=cls, fields=fields):
            return not is_plain(cls) or any(_decides(field.type) for field in fields)
    return not isinstance(info, _ALIKE)


@cache
def _may_be_unset(kind: type[Struct]) -> bool:
    return any(default is UNSET for default in kind.__struct_defaults__)
