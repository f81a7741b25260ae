"""The text that an expression is known to be, without running anything."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Final

from miner.analysis.script.scopes import Scopes
from miner.analysis.script.syntax import Node

_MAX_TEXT: Final = 4_096  # characters
_MAX_PARTS: Final = 256  # of one concatenation
_MAX_HOPS: Final = 4  # constants that name constants
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(\n|[^ux]))")
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_MAX_FIELDS: Final = 64  # of an object or an array that texts are taken from
_MAX_SEPARATOR: Final = 16  # characters
_CODE_DIGITS: Final = 6
_LAST_CODE: Final = 0x10FFFF
_WRAPPERS: Final = frozenset(
    {"parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression", "await_expression"}
)


def unwrapped(node: Node) -> Node:
    """Return the expression in parentheses, type casts, awaits and `(0, f)`."""
    while node.children:
        if node.kind in _WRAPPERS:
            node = node.children[0]
        elif node.kind in ("type_assertion", "sequence_expression"):
            node = node.children[-1]
        else:
            break
    return node


def literal(scopes: Scopes, node: Node) -> str:
    """Return what a string literal, or a fragment of a template, spells."""
    text = scopes.code.text(node)
    if node.kind == "string":
        text = text[1:-1]
    return _unescaped(text) if "\\" in text else text


def text_of(scopes: Scopes, node: Node | None, hops: int = _MAX_HOPS) -> str | None:
    """Return the text of a string expression whose parts are all known; None for anything else."""
    if node is None or scopes.texts is None:
        return _text_of(scopes, node, hops)
    key = (node.index, hops)
    if key not in scopes.texts:
        scopes.texts[key] = _text_of(scopes, node, hops)
    return scopes.texts[key]


def _text_of(scopes: Scopes, node: Node | None, hops: int) -> str | None:
    parts = _parts(scopes, node, hops) if node is not None else [None]
    known = [part for part in parts if part is not None]
    return "".join(known)[:_MAX_TEXT] if known and len(known) == len(parts) else None


def leading_text(scopes: Scopes, node: Node | None) -> str:
    """Return the text with which a string expression is known to begin; empty if nothing is known."""
    known = []
    for part in _parts(scopes, node, _MAX_HOPS) if node is not None else ():
        if part is None:
            break
        known.append(part)
    return "".join(known)[:_MAX_TEXT]


def is_assembled(node: Node | None) -> bool:
    """Whether the expression puts a text together from parts."""
    node = unwrapped(node) if node is not None else None
    if node is None:
        return False
    return node.kind == "binary_expression" or (
        node.kind == "template_string" and any(child.kind == "template_substitution" for child in node.children)
    )


def _parts(scopes: Scopes, node: Node, hops: int) -> list[str | None]:
    """Return the parts of a string expression in order, None for one that is not known."""
    parts: list[str | None] = []
    queue = [node]
    while queue and len(parts) < _MAX_PARTS:
        item = unwrapped(queue.pop())
        if item.kind == "binary_expression" and _operator(scopes, item) == "+":
            queue += [child for child in reversed(item.children) if child.kind != "+"]
        elif item.kind == "string":
            parts.append(literal(scopes, item))
        elif item.kind == "template_string":
            queue += reversed(item.children)
            parts.append("")
        elif item.kind == "template_substitution" and item.children:
            queue.append(item.children[0])
        elif item.kind in ("string_fragment", "escape_sequence"):
            parts.append(literal(scopes, item))
        elif item.kind == "number":
            parts.append(scopes.code.text(item))
        else:
            parts.append(_named(scopes, item, hops) if hops else None)
    return parts if not queue else [*parts, None]


def _named(scopes: Scopes, node: Node, hops: int) -> str | None:
    if node.kind == "identifier":
        found = scopes.binding(node)
        value = found.value if found is not None and found.constant else None
        return text_of(scopes, value, hops - 1) if value is not None else None
    if node.kind in ("member_expression", "subscript_expression"):
        return _field(scopes, node, hops)
    return _computed(scopes, node, hops) if node.kind == "call_expression" else None


def _field(scopes: Scopes, node: Node, hops: int) -> str | None:
    """Return the text of a field of an object, or of an item of an array, that is written out and named."""
    owner, named = node.child("object"), node.child("property")
    found = scopes.binding(owner) if owner is not None and owner.kind == "identifier" else None
    value = unwrapped(found.value) if found is not None and found.constant and found.value is not None else None
    if value is None or value.kind not in ("array", "object") or len(value.children) > _MAX_FIELDS:
        return None
    key = scopes.code.text(named) if named is not None else text_of(scopes, node.child("index"), hops - 1)
    if value.kind == "array":
        items = dict(zip(map(str, range(_MAX_FIELDS)), value.children, strict=False))
        return text_of(scopes, items.get(key or ""), hops - 1)
    values = [pair.child("value") for pair in value.children if pair.kind == "pair" and scopes.code.key_of(pair) == key]
    return text_of(scopes, values[-1], hops - 1) if values else None


def _computed(scopes: Scopes, call: Node, hops: int) -> str | None:
    """Return the text of the calls that put a text together or decode one: join, atob, Buffer.from."""
    function, arguments = call.child("function"), call.child("arguments")
    if function is None or arguments is None:
        return None
    given = arguments.children
    if function.kind == "identifier":
        called = scopes.code.text(function) == "atob" and given
        return _decoded(text_of(scopes, given[0], hops - 1)) if called else None
    receiver, method = function.child("object"), function.child("property")
    rule = _METHODS.get(scopes.code.text(method)) if method is not None else None
    return rule(scopes, receiver, given, hops) if rule is not None and receiver is not None else None


def _concatenated(scopes: Scopes, receiver: Node, given: list[Node], hops: int) -> str | None:
    texts = [text_of(scopes, item, hops - 1) for item in (receiver, *given[:_MAX_PARTS])]
    known = [text for text in texts if text is not None]
    return "".join(known)[:_MAX_TEXT] if len(known) == len(texts) else None


def _of_codes(scopes: Scopes, _: Node, given: list[Node], __: int) -> str | None:
    """Return the text of character codes that are spelled out."""
    spread = given[0].children if given and given[0].kind == "spread_element" else []
    texts = [scopes.code.text(item) for item in (spread[0].children if spread else given)[:_MAX_TEXT]]
    if not texts or not all(text.isdecimal() and len(text) < _CODE_DIGITS for text in texts):
        return None
    return "".join(map(chr, map(int, texts))).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _items(scopes: Scopes, node: Node, hops: int) -> list[str] | None:
    """Return the texts of an array that is spelled out, backwards where the code turns it."""
    node = unwrapped(node)
    if node.kind == "identifier" and hops:
        found = scopes.binding(node)
        value = unwrapped(found.value) if found is not None and found.constant and found.value is not None else None
        return _items(scopes, value, hops - 1) if value is not None else None
    if node.kind == "array":
        texts = [text_of(scopes, item, hops - 1) for item in node.children[:_MAX_PARTS]]
        known = [text for text in texts if text is not None]
        return known if len(known) == len(node.children) and sum(map(len, known)) <= _MAX_TEXT else None
    return _turned(scopes, node, hops) if node.kind == "call_expression" and hops else None


def _turned(scopes: Scopes, call: Node, hops: int) -> list[str] | None:
    """Return the texts that `reverse` and `split` give."""
    function, arguments = call.child("function"), call.child("arguments")
    receiver = function.child("object") if function is not None else None
    method = function.child("property") if function is not None else None
    if receiver is None or method is None or arguments is None:
        return None
    verb = scopes.code.text(method)
    if verb == "reverse":
        items = _items(scopes, receiver, hops - 1)
        return items[::-1] if items is not None else None
    text = text_of(scopes, receiver, hops - 1) if verb == "split" and arguments.children else None
    by = text_of(scopes, arguments.children[0], hops - 1) if text is not None else None
    return None if text is None or by is None else text.split(by) if by else list(text)


def _joined(scopes: Scopes, receiver: Node, given: list[Node], hops: int) -> str | None:
    separator = text_of(scopes, given[0], hops - 1) if given else ","
    if separator is None or len(separator) > _MAX_SEPARATOR:
        return None
    items = _items(scopes, receiver, hops)
    return separator.join(items)[:_MAX_TEXT] if items is not None else None


def _buffer(scopes: Scopes, call: Node, _: list[Node], hops: int) -> str | None:
    """Return what `Buffer.from(text, "base64")` holds, as text."""
    function, arguments = call.child("function"), call.child("arguments")
    if function is None or arguments is None or scopes.code.text(function)[:64] != "Buffer.from":
        return None
    text, *coding = [text_of(scopes, item, hops - 1) for item in arguments.children[:2]] or [None]
    if coding == ["hex"]:
        return _from_hex(text)
    return _decoded(text) if coding in (["base64"], ["base64url"]) else None


def _decoded(text: str | None) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8") if text else None
    except (binascii.Error, ValueError):
        return None


def _from_hex(text: str | None) -> str | None:
    try:
        return bytes.fromhex(text).decode("utf-8") if text else None
    except ValueError:
        return None


def _operator(scopes: Scopes, node: Node) -> str:
    operator = node.child("operator")
    return scopes.code.text(operator) if operator is not None else ""


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        if digits:
            return chr(int(digits, 16)) if int(digits, 16) <= _LAST_CODE else "\ufffd"
        return _PLAIN.get(match[4], match[4])

    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_METHODS: Final[dict[str, Callable[[Scopes, Node, list[Node], int], str | None]]] = {
    "join": _joined,
    "concat": _concatenated,
    "toString": _buffer,
    "fromCharCode": _of_codes,
    "fromCodePoint": _of_codes,
}
