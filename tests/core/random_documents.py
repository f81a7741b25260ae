"""Random documents: values, attestations, and ways to write and to damage them."""

import json
from random import Random
from typing import Any

import msgspec
from builders import make_sssa, make_task

from validator.protocol.sssa import Analysis, Evidence, Finding, Sssa

_TASK = make_task()
_TEXTS = ("", "a", "b", "é", "\ue000", "\uffff", "\U00010000", '"', "\\", '\\"', "a,b", "[{", "\n", "\x7f", "\u2028")
_FLOATS = (0.0, -0.0, 1.0, 0.5, 1e-5, 1e-6, 9.999999999999999e-7, 1e15, 1e16, 1e20, 1e21, 1e22, 5e-324, 1e308)
_DAMAGE = ('"', "\\", "[", "}", ",", "\x00", "\ufeff", "e", "-", "1e400", "NaN", " ", '"a":1,', '\\ud800"')


def value(random: Random, depth: int = 3) -> Any:
    """Plain JSON data; keys and numbers are mostly of those that are written in more than one way."""
    which = random.randrange(9 if depth else 6)
    if which >= 6:
        many = random.randrange(5)
        inner = [value(random, depth - 1) for _ in range(many)]
        return inner if which == 6 else {text(random): one for one in inner}
    return (None, True, text(random), integer(random), number(random), number(random))[which]


def text(random: Random) -> str:
    return "".join(random.choices(_TEXTS, k=random.randrange(4)))


def integer(random: Random) -> int:
    return random.choice((-1, 1)) * random.randrange(2 ** random.randrange(1, 54))


def number(random: Random) -> float:
    if random.random() < 0.4:
        return random.choice(_FLOATS)
    return random.choice((-1, 1)) * random.random() * 10.0 ** random.randrange(-9, 24)


def attestation(random: Random) -> Sssa:
    """An attestation of any risk, with texts and trace names that are written in more than one way."""
    findings = tuple(
        Finding(text(random), "other", "low", text(random), "a.py#L1", (), text(random))
        for _ in range(random.randrange(4))
    )
    risk = random.choice((0.0, 1.0, 0.5, random.random(), 10.0 ** -random.randrange(20)))
    hashes = {text(random): "sha256:" + "0" * 64 for _ in range(random.randrange(4))}
    whole = make_sssa(_TASK)
    return msgspec.structs.replace(
        whole,
        analysis=Analysis("ALLOW", risk, findings, (text(random),), ()),
        evidence=Evidence(hashes, None, None, None),
    )


def written(random: Random, document: Any) -> bytes:
    """The document in one of many ways: with gaps, escapes, keys twice, cut short or with something put in."""
    data = json.dumps(
        document,
        ensure_ascii=random.random() < 0.5,
        indent=random.choice((None, None, 1)),
        separators=random.choice((None, (",", ":"))),
    )
    if random.random() < 0.3:
        keys = [i for i in range(len(data)) if data.startswith('":', i)]
        if keys:
            data = _twice(data, random.choice(keys))
    if random.random() < 0.3:
        place = random.randrange(len(data) + 1)
        data = data[:place] + random.choice(_DAMAGE) + data[place + random.randrange(2) :]
    return data.encode("utf-8", "surrogatepass")


def _twice(data: str, end: int) -> str:
    """The document with the key that ends there put before itself again, with null for its value, perhaps escaped."""
    begin = data.rfind('"', 0, end)
    key = data[begin + 1 : end]
    again = "".join(f"\\u{ord(one):04x}" for one in key) if key.isascii() and "\\" not in key and end % 2 else key
    return f'{data[:begin]}"{again}":null,{data[begin:]}'
