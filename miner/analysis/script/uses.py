"""Which capabilities a file makes use of, with the host, path, program or variable where it is spelled out."""

from collections.abc import Iterator
from typing import Final

from miner.analysis.links import hosts_in, without_port
from miner.analysis.result import Use
from miner.analysis.script import tables
from miner.analysis.script.holding import parts_of_call
from miner.analysis.script.names import Names
from miner.analysis.script.sources import programs_of
from miner.analysis.script.strings import literal, text_of
from miner.analysis.script.syntax import Node
from miner.analysis.source import SourceFile
from validator.protocol import vocabulary as cap

_MEMBERS: Final = frozenset({"member_expression", "subscript_expression"})
_IMPORTS: Final = frozenset({"require", "import"})
_MODULES: Final = (
    (tables.NETWORK_MODULES, cap.NETWORK),
    (tables.PROCESS_MODULES, cap.SUBPROCESS),
    (tables.NATIVE_MODULES, cap.NATIVE_CODE),
)
_BY_NAME: Final = frozenset({cap.DYNAMIC_CODE, cap.SERIALIZATION, cap.NATIVE_CODE})  # their pattern is what is called


def uses_of(source: SourceFile, names: Names) -> list[Use]:
    """Return every use of a capability in the file."""
    uses = [use for node in names.code.nodes for use in _uses_in(source, names, node)]
    if any(use.capability == cap.NETWORK for use in uses) or not names.modules.keys().isdisjoint(
        tables.NETWORK_MODULES
    ):
        uses += _hosts(source, names)
    if any(use.capability == cap.NETWORK and use.pattern for use in uses):
        uses = [use for use in uses if use.capability != cap.NETWORK or use.pattern]
    spelled_out = {use.capability for use in uses}
    for module, line in names.modules.items():
        for known, capability in _MODULES:
            if module in known and capability not in spelled_out:
                pattern = module if capability == cap.NATIVE_CODE else ""
                uses.append(Use(capability, source.place(line), pattern))
    return uses


def _uses_in(source: SourceFile, names: Names, node: Node) -> Iterator[Use]:
    if node.kind in ("call_expression", "new_expression"):
        function, arguments = parts_of_call(node)
        if function is not None:
            yield from _call(source.place(node.line), names, names.of(function), arguments)
    elif node.kind in ("member_expression", "subscript_expression"):
        yield from _environment(source, names, node)
    elif node.kind == "variable_declarator" and names.of(node.child("value")) == "process.env":
        pattern = node.child("name")
        for key in pattern.children if pattern is not None and pattern.kind == "object_pattern" else ():
            name = key.child("key") or next(iter(key.children), key)
            yield Use(cap.ENV_READ, source.place(key.line), names.code.text(name)[:128])


def _call(place: str, names: Names, name: str, arguments: list[Node]) -> Iterator[Use]:
    capability = tables.CAPABILITY_OF.get(name, "")
    if name in _IMPORTS and arguments and text_of(names.scopes, arguments[0]) is None:
        yield Use(cap.DYNAMIC_CODE, place, name)
    elif capability in _BY_NAME:
        yield Use(capability, place, name)
    elif capability == cap.SUBPROCESS:
        yield from [Use(capability, place, program) for program in programs_of(names, arguments)]
    elif capability == cap.NETWORK:
        text = next((text for one in arguments[:2] if (text := text_of(names.scopes, one)) and not text.isdigit()), "")
        hosts = hosts_in(text) if "://" in text else [without_port(text)] if "." in text and "/" not in text else []
        yield from [Use(cap.NETWORK, place, host) for host in sorted(hosts)] or [Use(cap.NETWORK, place)]
    elif capability:
        yield Use(capability, place, (text_of(names.scopes, arguments[0]) or "") if arguments else "")


def _environment(source: SourceFile, names: Names, node: Node) -> Iterator[Use]:
    name = names.of(node)
    part = node.field == "object" and node.parent is not None and node.parent.kind in _MEMBERS
    computed = node.kind == "subscript_expression" and not name and names.of(node.child("object")) == "process.env"
    if name.startswith("process.env."):
        yield Use(cap.ENV_READ, source.place(node.line), name.split(".")[2])
    elif computed or (name == "process.env" and not part):
        yield Use(cap.ENV_READ, source.place(node.line))


def _hosts(source: SourceFile, names: Names) -> Iterator[Use]:
    for node in names.code.nodes:
        if node.kind in ("string", "string_fragment") and node.parent is not None and node.parent.kind != "string":
            text = literal(names.scopes, node)
            for host in sorted(hosts_in(text)) if "://" in text else ():
                yield Use(cap.NETWORK, source.place(node.line), host)
