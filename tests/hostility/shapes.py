"""Shapes of dear JSON and text, each of about as many bytes as asked for."""

from collections.abc import Callable
from typing import Final

Shape = Callable[[int], bytes]


def unterminated(size: int) -> bytes:
    return b"[" + b"[]," * 33 + b'"' + b'\\"' * (size // 2)


def duplicate_last(size: int) -> bytes:
    return b"{" + b",".join(b'"%07x":1' % i for i in range(size // 12)) + b',"0000000":1}'


def escaped_duplicate_last(size: int) -> bytes:
    return b"{" + b",".join(b'"%07x":1' % i for i in range(size // 12)) + b',"000000\\u0030":1}'


def hashes_duplicate_last(size: int) -> bytes:
    many = b",".join(b'"%07x":"sha256:%064x"' % (i, i) for i in range(size // 84))
    return b'{"evidence":{"trace_hashes":{' + many + b',"0000000":""}}}'


JSON: Final[dict[str, Shape]] = {
    "unterminated": unterminated,
    "unterminated after backslashes": lambda n: b'["' + b"\\" * n,
    "duplicate last": duplicate_last,
    "escaped duplicate last": escaped_duplicate_last,
    "duplicate hash last": hashes_duplicate_last,
    "one key again and again": lambda n: b"{" + b'"risk_score":5e-324,' * (n // 20) + b'"a":1}',
    "deep": lambda n: b"[" * (n // 2) + b"]" * (n // 2),
    "deep and open": lambda n: b'{"a":' * (n // 5),
    "as deep as allowed, often": lambda n: b"[" + (b"[" * 14 + b"]" * 14 + b",") * (n // 29) + b"1]",
    "wide": lambda n: b"[" + b"[]," * (n // 3) + b"1]",
    "wide objects": lambda n: b"[" + b'{"a":{}},' * (n // 9) + b"1]",
    "brackets in strings": lambda n: b"[" + b'"[",["]"],' * (n // 10) + b"1]",
    "quotes": lambda n: b'"' * n,
    "escapes": lambda n: b'["' + b"\\u00e9\\n" * (n // 8) + b'"]',
    "surrogate pairs": lambda n: b'["' + b"\\ud83d\\ude00" * (n // 12) + b'"]',
    "a lone surrogate last": lambda n: b'["' + b"\\ud83d\\ude00" * (n // 12) + b'\\ud800"]',
    "combining marks": lambda n: b'["a' + "\u0301\u0327".encode() * (n // 4) + b'"]',
    "invalid UTF-8 last": lambda n: b'["' + b"x" * n + b'\xff"]',
    "digits": lambda n: b"[" + b"7" * n + b"]",
    "a long fraction": lambda n: b"[1." + b"7" * n + b"]",
    "whole numbers of 4,300 digits": lambda n: b"[" + (b"9" * 4_300 + b",") * (n // 4_301) + b"1]",
    "subnormal numbers": lambda n: b"[" + b"5e-324," * (n // 7) + b"1]",
    "infinity last": lambda n: b"[" + b"1e-7," * (n // 5) + b"1e999]",
    "white space": lambda n: b"[1" + b" \n" * (n // 2) + b"]",
    "white space between": lambda n: b"[" + b"1 ,\n" * (n // 4) + b"1]",
    "empty lines": lambda n: b"\n" * n,
}

# Parts of a text that lasts; a field takes as many as fit.
TEXTS: Final[dict[str, str]] = {
    "marks out of order": "\u0301\u0327",
    "marks that decompose": "\u0f73\u0344",
    "slashes": "/",
    "folders": "a/",
    "dots": "./",
    "dashes": "-_.",
    "percents": "%25",
    "broken percents": "%",
    "bars": "|%",
    "at signs": "@",
    "colons": "a::",
    "astral": "\U0001f600\uffff",
    "spaces": " \t",
    "controls": "\x01\x7f",
}
