"""Secrets that JavaScript spells out in some disguise: in pieces, packed, in addresses, as passwords."""

from collections.abc import Iterator
from typing import Final

from miner.analysis import code_secrets as code
from miner.analysis.result import found
from miner.analysis.script.flow import Flow
from miner.analysis.script.holding import parts_of_call
from miner.analysis.script.scopes import parameters_of
from miner.analysis.script.strings import literal, text_of, unwrapped
from miner.analysis.script.syntax import Node
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Finding

_COMPUTED: Final = frozenset({"binary_expression", "template_string", "call_expression"})
_LITERALS: Final = frozenset({"string", "string_fragment"})
_NAMED: Final = {
    "variable_declarator": ("name", "value"),
    "pair": ("key", "value"),
    "assignment_expression": ("left", "right"),
    "assignment_pattern": ("left", "right"),
    "object_assignment_pattern": ("left", "right"),
    "required_parameter": ("pattern", "value"),
    "optional_parameter": ("pattern", "value"),
    "public_field_definition": ("name", "value"),
    "field_definition": ("property", "value"),
}
_CHOICES: Final = frozenset({"||", "??"})
_MAX_COMPUTED: Final = 5_000  # sums, templates and calls of a file that are looked at
_LONGEST: Final = 2_048  # characters of an expression that is put together


def secrets_of(source: SourceFile, flow: Flow, said: frozenset[str]) -> Iterator[Finding]:
    """Yield a finding for each line that spells out a secret in some disguise.

    Args:
        source: the file.
        flow: of its values.
        said: evidence of the secrets that are known already.
    """
    told, computed = set(said), 0
    for node in flow.names.code.nodes:
        computed += node.kind in _COMPUTED
        if node.kind in _COMPUTED and computed > _MAX_COMPUTED:
            continue
        what = _said_of(flow, node)
        place = source.place(node.line) if what else ""
        if what and place not in told:
            told.add(place)
            yield found("secrets_exposure", "high", place, what, source.path)


def _said_of(flow: Flow, node: Node) -> str:
    """Return what is wrong with the value of an expression or a name; empty for nothing."""
    if node.kind in _LITERALS:
        text = literal(flow.names.scopes, node) if node.end - node.start <= _LONGEST else ""
        if "://" in text and code.has_password(text):
            return code.IN_ADDRESS
        return code.PACKED if code.is_packed(text) else ""
    if node.kind in _COMPUTED and node.end - node.start <= _LONGEST:
        return _put_together(flow, node)
    if node.kind in _NAMED:
        name, value = (node.child(field) for field in _NAMED[node.kind])
        named = name is not None and code.names_password(flow.names.code.text(name)[-64:].strip("\"'"))
        return code.PASSWORD if named and _is_password(flow, value) else ""
    return ""


def _put_together(flow: Flow, node: Node) -> str:
    """Return what is wrong with a text of pieces, or with the arguments of the file's own function."""
    if node.kind == "call_expression":
        function, arguments = parts_of_call(node)
        own = flow.holding.function_of(function) if function is not None else None
        for parameter, argument in zip(parameters_of(own), arguments, strict=False) if own is not None else ():
            if code.names_password(flow.names.code.text(parameter)[:64]) and _is_password(flow, argument):
                return code.PASSWORD
    elif node.parent is not None and node.parent.kind == node.kind == "binary_expression":
        return ""  # a part of a sum: the whole is looked at
    text = text_of(flow.names.scopes, node) if node.kind != "template_string" or len(node.children) > 1 else None
    if text is None:
        return ""
    if code.has_password(text):
        return code.IN_ADDRESS
    return code.ASSEMBLED if code.is_secret(text) else code.PACKED if code.is_packed(text) else ""


def _is_password(flow: Flow, value: Node | None) -> bool:
    """Whether a value is a password, or what stands in for one that is not set."""
    value = unwrapped(value) if value is not None else None
    if value is not None and value.kind == "binary_expression":
        operator = value.child("operator")
        chosen = operator is not None and flow.names.code.text(operator) in _CHOICES
        value = value.child("right") if chosen else None
    return value is not None and value.kind == "string" and code.is_password(literal(flow.names.scopes, value))
