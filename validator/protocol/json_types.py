"""What a type of msgspec says about every JSON document that is decoded to it. Of no recursive type."""

from functools import lru_cache
from math import inf
from typing import Any

from msgspec import inspect

from validator.protocol import typed

_LISTS = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
_SCALARS = (
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
    inspect.StrType,
    inspect.LiteralType,
    inspect.EnumType,
)


@lru_cache(maxsize=256)
def deepest(kind: Any) -> float:
    """Return how deep a document of this type can nest at all: types without `Any` need no look at the brackets."""
    return _levels(typed.info(kind))


@lru_cache(maxsize=256)
def adds_no_strings(kind: Any) -> bool:
    """Whether what is decoded to this type is never written again with more strings than the document had.

    Fields that may be left out would be written as well, and some types are written as strings that came as numbers.
    """
    return _adds_none(typed.info(kind))


def _levels(info: inspect.Type) -> float:
    if isinstance(info, _SCALARS):
        return 0
    match info:
        case inspect.UnionType(types=types):
            return max(map(_levels, types))
        case inspect.StructType(fields=fields, forbid_unknown_fields=True):
            inner = [field.type for field in fields]
        case inspect.DictType(value_type=value):
            inner = [value]
        case inspect.TupleType(item_types=items):
            inner = list(items)
        case _:
            inner = [info.item_type] if isinstance(info, _LISTS) else []
            if not inner:
                return inf
    return 1 + max(map(_levels, inner), default=0)


def _adds_none(info: inspect.Type) -> bool:
    if isinstance(info, (*_SCALARS, inspect.AnyType)):
        return True
    match info:
        case inspect.UnionType(types=types):
            return all(map(_adds_none, types))
        case inspect.StructType(fields=fields, tag=None, array_like=False):
            return all(field.required and _adds_none(field.type) for field in fields)
        case inspect.DictType(key_type=inspect.StrType(), value_type=value):
            return _adds_none(value)
        case inspect.TupleType(item_types=items):
            return all(map(_adds_none, items))
    return isinstance(info, _LISTS) and _adds_none(info.item_type)
