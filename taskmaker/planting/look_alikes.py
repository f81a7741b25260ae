"""Host names and keys that look like somebody's and are nobody's: names off a list of real ones, real DER."""

import base64
from functools import cache
from math import gcd, lcm
from pathlib import Path
from typing import Any, Final, Protocol

_BEGINS: Final = (
    *("b", "br", "c", "d", "f", "g", "h", "k", "l", "m", "n"),
    *("p", "pr", "qu", "r", "s", "st", "t", "tr", "v", "w", "z"),
)
_VOWELS: Final = ("a", "e", "i", "o", "u", "ia", "ea", "io")
_ENDS: Final = ("", "", "l", "n", "r", "s", "x", "nd", "rn", "ck")
_TRADES: Final = ("", "", "", "labs", "hq", "desk", "ops", "works", "data", "cloud", "soft", "kit", "base")
_ZONES: Final = ("com", "com", "com", "io", "dev", "net", "app", "org", "co", "cloud")
_PARTS: Final = ("", "", "api.", "stats.", "cdn.", "hooks.", "metrics.", "sync.", "edge.", "status.")
_SMALL: Final = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73)
_HALF: Final = 512  # bits of a prime of an RSA key: longer ones take long to find
_WITNESSES: Final = 12
_P256: Final = bytes.fromhex("06082a8648ce3d030107")  # the curve's object identifier
_EC: Final = bytes.fromhex("06072a8648ce3d0201")
_ED25519: Final = bytes.fromhex("06032b6570")
_INTEGER, _OCTETS, _SEQUENCE = 0x02, 0x04, 0x30
_LONG: Final = 0x80


class _Draws(Protocol):
    def number(self, low: int, high: int) -> int:
        """Return an integer, both ends included."""

    def pick(self, choices: Any) -> Any:
        """Return one element."""

    def bytes(self, count: int) -> bytes:
        """Return bytes."""


def domain(draws: _Draws) -> str:
    """Return a host name of a domain that reads like a small company's and is none of the known ones."""
    while True:
        syllables = [draws.pick(_BEGINS) + draws.pick(_VOWELS) + draws.pick(_ENDS) for _ in range(draws.number(2, 3))]
        label = "".join(syllables) + draws.pick(_TRADES)
        if label not in known_labels():
            return f"{draws.pick(_PARTS)}{label}.{draws.pick(_ZONES)}"


@cache
def known_labels() -> frozenset[str]:
    """Return the names in front of the zone of domains that are somebody's."""
    text = (Path(__file__).parent / "data" / "words" / "known_domains.txt").read_text()
    return frozenset(line for line in text.split() if not line.startswith("#"))


def key(draws: _Draws) -> dict[str, str]:
    """Return a new private key: `kind` and `body` of its PEM block, `public` the body of another's public key."""
    kind, der = draws.pick((_ed25519, _p256, _p256_alone, _rsa))(draws)
    public = _tlv(_SEQUENCE, _tlv(_SEQUENCE, _ED25519) + b"\x03\x21\x00" + draws.bytes(32))
    return {"kind": kind, "body": _wrapped(der), "public": _wrapped(public)}


def _ed25519(draws: _Draws) -> tuple[str, bytes]:
    seed = _tlv(_OCTETS, _tlv(_OCTETS, draws.bytes(32)))
    return "PRIVATE KEY", _tlv(_SEQUENCE, _integer(0) + _tlv(_SEQUENCE, _ED25519) + seed)


def _p256(draws: _Draws) -> tuple[str, bytes]:
    scalar = _tlv(_SEQUENCE, _integer(1) + _tlv(_OCTETS, b"\x00" + draws.bytes(31)))
    return "PRIVATE KEY", _tlv(_SEQUENCE, _integer(0) + _tlv(_SEQUENCE, _EC + _P256) + _tlv(_OCTETS, scalar))


def _p256_alone(draws: _Draws) -> tuple[str, bytes]:
    scalar = _tlv(_OCTETS, b"\x00" + draws.bytes(31))
    return "EC PRIVATE KEY", _tlv(_SEQUENCE, _integer(1) + scalar + _tlv(0xA0, _P256))


def _rsa(draws: _Draws) -> tuple[str, bytes]:
    e = 65_537
    p, q = sorted((_prime(draws, e), _prime(draws, e)), reverse=True)
    d = pow(e, -1, lcm(p - 1, q - 1))
    numbers = (0, p * q, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    return "RSA PRIVATE KEY", _tlv(_SEQUENCE, b"".join(map(_integer, numbers)))


def _prime(draws: _Draws, e: int) -> int:
    """Return a prime whose two highest bits are set, so that a product of two has its full length."""
    candidate = int.from_bytes(draws.bytes(_HALF // 8), "big") | (3 << (_HALF - 2)) | 1
    while any(candidate % one == 0 for one in _SMALL) or gcd(candidate - 1, e) > 1 or not _passes(candidate):
        candidate += 2
    return candidate


def _passes(number: int) -> bool:
    """Return whether a number passes the Miller-Rabin test for small witnesses."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _SMALL[:_WITNESSES]:
        x = pow(witness, odd, number)
        if x not in {1, number - 1} and all((x := x * x % number) != number - 1 for _ in range(twos - 1)):
            return False
    return True


def _integer(number: int) -> bytes:
    return _tlv(_INTEGER, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _tlv(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < _LONG:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, _LONG | len(length))) + length + content


def _wrapped(der: bytes) -> str:
    text = base64.b64encode(der).decode()
    return "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
