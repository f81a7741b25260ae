"""Do secrets leave? Which calls send them, where to, and whether as the credential that they are."""

import re
from collections.abc import Iterator
from typing import Final

from miner.analysis.links import urls_in
from miner.analysis.policy import host_of
from miner.analysis.script import labels as lab
from miner.analysis.script import tables
from miner.analysis.script.flow import Flow
from miner.analysis.script.holding import parts_of_call
from miner.analysis.script.labels import NONE, Labels
from miner.analysis.script.rules import object_to
from miner.analysis.script.strings import leading_text, unwrapped
from miner.analysis.script.syntax import Node
from miner.analysis.shell_tables import CONVERSING, DOWNLOADERS, SENDERS
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Finding

_WHOLE: Final = frozenset({lab.ENVIRONMENT, lab.FILE})
_MAX_STEPS: Final = 6  # from an address to the text that it was made of
_HOST_KEYS: Final = frozenset({"url", "uri", "baseURL", "host", "hostname"})
_WORD: Final = re.compile(r"[A-Za-z]{3,}")
# Words of a variable's name that name no service.
_GENERIC: Final = tables.words(
    """
    api key keys token secret secrets access auth password passwd passphrase private public client session
    credential credentials bearer oauth app user service server base url the pat personal mcp id refresh jwt bot
    """
)
# Keys of accounts that hold others: sent to somebody else, even as a header, they are given away.
_PRECIOUS: Final = re.compile(
    r"^(?:AWS_SECRET|AWS_SESSION|NPM_TOKEN|GITHUB_TOKEN|GH_TOKEN|SSH_|GPG_)|MNEMONIC|PRIVATE_KEY"
)


def leaks_of(source: SourceFile, flow: Flow) -> Iterator[Finding]:
    """Yield the calls that send a secret of the environment, or of a file, away."""
    for node in flow.names.code.nodes:
        if node.kind not in ("call_expression", "new_expression"):
            continue
        function, arguments = parts_of_call(node)
        if function is None or not arguments:
            continue
        if _hands_to_sender(flow, function, arguments) or _pipes(flow, node, function, arguments):
            yield object_to("secret-sent", source, node.line)
        if not _sends(flow, node, function):
            continue
        openly, hidden, url = _sent(flow, arguments)
        if flow.names.of(function) in tables.RESOLVERS and (openly & _WHOLE or [*lab.variables(openly)]):
            yield object_to("secret-sent", source, node.line)
            continue
        rule = _objection(openly, hidden, host_of(url))
        if rule:
            yield object_to(rule, source, node.line, url)


def _hands_to_sender(flow: Flow, function: Node, arguments: list[Node]) -> bool:
    """Whether a program that sends gets a secret among its arguments; its environment is not looked at."""
    if flow.names.of(function) not in tables.SPAWNERS:
        return False
    words = leading_text(flow.names.scopes, arguments[0]).replace("|", " ").split()
    given = flow.of_all([one for one in arguments[:2] if one.kind != "object"])
    if lab.SECRET_PATH in given and not (DOWNLOADERS | CONVERSING).isdisjoint(words):
        return True
    return bool(given & _WHOLE) and not (DOWNLOADERS | SENDERS).isdisjoint(words)


def _pipes(flow: Flow, call: Node, function: Node, arguments: list[Node]) -> bool:
    """Whether a stream of secrets is led into a connection."""
    piped = flow.names.method_of(call) == "pipe" and lab.CONNECTION in flow.of(arguments[0])
    if piped:
        return bool(flow.of(function.child("object")) & _WHOLE)
    joined = flow.names.of(function).endswith("pipeline") and len(arguments) > 1
    return joined and lab.CONNECTION in flow.of_all(arguments) and bool(flow.of_all(arguments) & _WHOLE)


def _sends(flow: Flow, call: Node, function: Node) -> bool:
    name = flow.names.of(function)
    if name in tables.SENDERS or (name in tables.CONNECTORS and call.kind == "new_expression"):
        return True
    key = function.child("property") if function.kind == "member_expression" else None
    if key is None or flow.names.code.text(key) not in tables.SENDING_METHODS:
        return False
    return lab.CONNECTION in flow.of(function.child("object"))


def _objection(openly: Labels, hidden: Labels, host: str) -> str:
    """Return the rule that is broken, empty for none.

    Args:
        openly: what the URL and the body hold.
        hidden: what headers and the like hold.
        host: that it goes to, as far as the source spells it out.
    """
    if (openly | hidden) & _WHOLE:
        return "secret-sent"
    names = [*lab.variables(openly)]
    if any(_PRECIOUS.search(name) and not _named_for(name, host) for name in [*names, *lab.variables(hidden)] if host):
        return "secret-sent"
    if not names:
        return ""
    if not host:
        return "secret-somewhere"
    return "credential-openly" if all(_named_for(name, host) for name in names) else "secret-sent"


def _named_for(variable: str, host: str) -> bool:
    """Whether a variable's name names the service at the host: GOOGLE_MAPS_API_KEY and maps.googleapis.com."""
    words = [word.lower() for word in _WORD.findall(variable)]
    host = "api.github.com" if host == "github.com" else host
    telling = [word for word in words if word not in _GENERIC] or (["github"] if variable.startswith("GH_") else [])
    return any(word in host for word in telling)


def _sent(flow: Flow, arguments: list[Node]) -> tuple[Labels, Labels, str]:
    """Return what the arguments hold openly and as credentials, and the URL or host among them."""
    openly, hidden, url = NONE, NONE, ""
    for argument in arguments:
        inner = unwrapped(argument)
        if inner.kind == "object":
            for pair in inner.children:
                key = flow.names.code.key_of(pair)
                labels = flow.of(pair)
                if key.lower() in tables.CREDENTIAL_KEYS:
                    hidden |= labels
                else:
                    openly |= labels
                if key in _HOST_KEYS:
                    url = url or _address(flow, pair.child("value"))
        elif inner.kind == "identifier" and flow.holding.field(inner, "headers") is not None:
            kept = [flow.holding.field(inner, key) or NONE for key in tables.CREDENTIAL_KEYS]
            hidden |= NONE.union(*kept)
            openly |= flow.of(inner) - hidden
        else:
            openly |= flow.of(inner)
            url = url or _address(flow, inner)
    return openly, hidden, url


def _before(flow: Flow, node: Node) -> Node | None:
    """Return what a URL was made of: `url.toString()` of url, that of `new URL(text)`, that of the text."""
    if node.kind in ("call_expression", "new_expression"):
        function, arguments = parts_of_call(node)
        member = function is not None and function.kind == "member_expression"
        owner = function.child("object") if function is not None and member and node.kind == "call_expression" else None
        return owner if owner is not None else next(iter(arguments), None)
    if node.kind == "member_expression":
        return node.child("object")
    found = flow.names.scopes.binding(node) if node.kind == "identifier" else None
    return found.value if found is not None else None


def _address(flow: Flow, node: Node | None) -> str:
    """Return the URL that an expression begins with; a bare host as `https://host`."""
    node = unwrapped(node) if node is not None else None
    if node is None:
        return ""
    for _ in range(_MAX_STEPS):
        inner = _before(flow, node)
        if inner is None:
            break
        node = unwrapped(inner)
    text = leading_text(flow.names.scopes, node)
    url = next(urls_in(text), "")
    return url or (f"https://{text}" if re.fullmatch(r"[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", text) else "")
