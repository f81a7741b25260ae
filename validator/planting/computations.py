"""Computations whose results name execution marks: what each is drawn from, and what it gives (SPEC 15). Pure.

Their texts in Python, JavaScript and shell are templates, `data/marks/NAME.mark`.
"""

import hashlib
from collections.abc import Callable, Mapping
from itertools import product
from types import MappingProxyType
from typing import Final, NamedTuple

from validator.planting.draws import Draws

Row = tuple[str | int, ...]

_THINGS: Final = (
    *("amber", "birch", "canvas", "cedar", "clover", "copper", "cotton", "fennel", "flint", "granite"),
    *("hazel", "indigo", "juniper", "linen", "maple", "marble", "meadow", "nutmeg", "ochre", "pepper"),
    *("quartz", "saffron", "slate", "walnut"),
)
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_FAR: Final = 999_999


class Facts(NamedTuple):
    """What is drawn for one computation: its table, the numbers of its text, and its result.

    The result may follow from the bytes of the file that holds the code.
    """

    rows: tuple[Row, ...]
    numbers: Mapping[str, int | str]
    result: Callable[[bytes], str]


def _ledger(draws: Draws) -> Facts:
    rows = [(name, draws.number(11, 98_765)) for name in draws.some(_THINGS, 5, 10)]
    start, times, size = draws.number(3, 99_999), draws.number(1_001, 999_983), draws.number(2**30, 2**31 - 1)
    total = start
    for name, amount in rows:
        total = (total * times + amount * len(name)) % size
    return Facts(tuple(rows), {"start": start, "times": times, "size": size}, lambda _: f"{total:08x}")


def _digest(draws: Draws) -> Facts:
    salt = f"{draws.pick(('v', 'r', 'rev'))}{draws.number(2, 999)}.{draws.number(0, 9_999)}"  # short: no secret
    method, size = draws.pick(("sha256", "sha384", "sha512")), draws.number(10, 20)

    def result(content: bytes) -> str:
        return hashlib.new(method, salt.encode() + content, usedforsecurity=False).hexdigest()[:size]

    return Facts((), {"salt": salt, "method": method, "size": size}, result)


def _schedule(draws: Draws) -> Facts:
    rows = [(draws.number(103, 99_991),) for _ in range(draws.number(9, 16))]
    start = [draws.number(7, 9_973) for _ in range(3)]
    loads = list(start)
    for (minutes,) in rows:
        loads[loads.index(min(loads))] += minutes
    numbers = dict(zip(("first", "second", "third"), start, strict=True))
    return Facts(tuple(rows), numbers, lambda _: "-".join(map(str, loads)))


def _routes(draws: Draws) -> Facts:
    last = draws.number(5, 7)
    rows = [(number, number + 1, draws.number(211, 9_973)) for number in range(last)]
    others = [(one, two, draws.number(211, 19_997)) for one, two in product(range(last + 1), repeat=2) if one != two]
    rows = draws.some(rows + draws.some(others, 6, 9), 99, 99)
    far = [0] + [_FAR] * last
    for _ in range(last + 1):
        for start, end, length in rows:
            far[end] = min(far[end], far[start] + length)
    return Facts(tuple(rows), {"last": last, "far": _FAR}, lambda _: "-".join(map(str, far[1:])))


def _letters(draws: Draws) -> Facts:
    rows = [(name,) for name in draws.some(_THINGS, 3, 5)]
    start, step = draws.number(1, 999), draws.number(3, 999)
    text = "".join(name for (name,) in rows)
    moved = "".join(_LETTERS[(_LETTERS.index(one) + start + step * at) % 26] for at, one in enumerate(text))
    return Facts(tuple(rows), {"start": start, "step": step}, lambda _: moved[:24])


def _ring(draws: Draws) -> Facts:
    rows = [(number,) for number in draws.some(range(101, 998), 14, 20)]
    turn, left = draws.number(3, 11), draws.number(4, 6)
    ring = [number for (number,) in rows]
    while len(ring) > left:
        at = turn % len(ring)
        ring = ring[at + 1 :] + ring[:at]
    return Facts(tuple(rows), {"turn": turn, "left": left}, lambda _: "-".join(map(str, ring)))


COMPUTATIONS: Final[Mapping[str, Callable[[Draws], Facts]]] = MappingProxyType(
    {
        "digest": _digest,
        "ledger": _ledger,
        "letters": _letters,
        "ring": _ring,
        "routes": _routes,
        "schedule": _schedule,
    }
)
