"""Do secrets of the environment reach the network? Names that hold them are followed through one module."""

import ast
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from localnet.analysis.links import urls_in
from localnet.analysis.python_parse import FUNCTIONS, Names, Scope, dotted, keyword, leading_text, text_of

_PASSES: Final = 6  # a value that changes hands more often than this is lost sight of
_SECRET_NAME: Final = re.compile(r"(?i)secret|token|passw|credential|api_?key|private|aws_|session|auth|_key$|^key$")
_SECRET_PATH: Final = re.compile(
    r"(?i)\.ssh|id_rsa|id_ed25519|\.aws|\.netrc|\.pgpass|\.gnupg|\.kube|\.docker/config|/etc/shadow|\.env$|wallet|\.git-credentials"
)
_ENVIRONMENT: Final = frozenset({"os.environ", "os.environb"})
_SPREADING_CALLS: Final = frozenset({"dict", "str", "repr", "json.dumps", "pickle.dumps", "urllib.parse.urlencode"})
_SPREADING_ATTRIBUTES: Final = frozenset({"os.environ.items", "os.environ.copy", "os.environ.values"})
_SENDERS: Final = frozenset(
    {
        "urllib.request.urlopen",
        "urllib.request.Request",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.create_connection",
        *(
            f"{module}.{verb}"
            for module in ("requests", "httpx")
            for verb in ("get", "post", "put", "patch", "request", "head", "delete")
        ),
    }
)
_SENDING_METHODS: Final = frozenset(
    {"sendall", "sendto", "send", "post", "put", "patch", "request", "sendmail", "storbinary", "endheaders"}
)
_CREDENTIAL_KEYWORDS: Final = frozenset({"headers", "auth", "cookies", "cert"})
_NETWORK_MODULES: Final = (
    "socket",
    "http.client",
    "urllib.request",
    "requests",
    "httpx",
    "aiohttp",
    "smtplib",
    "ftplib",
    "urllib3",
)


class Leak(NamedTuple):
    """A call that sends a secret away.

    Attributes:
        line: of the call.
        url: where to, as far as the source spells it out.
        as_credential: whether the secret travels as a credential (headers, auth), as secrets are meant to.
    """

    line: int
    url: str
    as_credential: bool


def find_leaks(scopes: list[Scope], names: Names) -> Iterator[Leak]:
    """Yield the calls of the module that send a secret of the environment or a secret file's content away."""
    if not any(module in names.modules for module in _NETWORK_MODULES):
        return
    tracker = _Tracker(scopes, names)
    for _ in range(_PASSES):
        if not tracker.follow():
            break
    yield from tracker.leaks()


class _Tracker:
    """Which names hold secrets, per function, and which functions return them."""

    def __init__(self, scopes: list[Scope], names: Names) -> None:
        self.names = names
        self.scopes = scopes
        self.parents = {
            id(child): node for _, nodes in self.scopes for node in nodes for child in ast.iter_child_nodes(node)
        }
        self.parameters = {
            node.name: [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
            for _, nodes in self.scopes
            for node in nodes
            if isinstance(node, FUNCTIONS)
        }
        self.secrets: set[tuple[str, str]] = set()
        self.returning: set[str] = set()
        self.hot: set[int] = set()  # ids of the nodes that hold a secret, as of the last pass

    def follow(self) -> bool:
        """Carry what is known one step further; whether that made anything new known."""
        before = len(self.secrets) + len(self.returning)
        self.hot = set()
        for scope, nodes in self.scopes:
            for node in reversed(nodes):  # children come before their parents
                if id(node) in self.hot or self._is_secret(scope, node):
                    self.hot |= {id(node), id(self.parents.get(id(node)))}
        for scope, nodes in self.scopes:
            for node in nodes:
                self._hand_on(scope, node)
        return len(self.secrets) + len(self.returning) > before

    def _is_secret(self, scope: str, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return (scope, node.id) in self.secrets or ("", node.id) in self.secrets
        if isinstance(node, ast.Subscript):
            return self._is_environment(node.value) and _SECRET_NAME.search(text_of(node.slice) or "secret") is not None
        if isinstance(node, ast.Dict):
            unpacked = [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
            return any(map(self._is_environment, unpacked))
        return isinstance(node, ast.Call) and self._gives_secret(node)

    def _gives_secret(self, node: ast.Call) -> bool:
        name = self.names.of(node.func)
        first = text_of(node.args[0]) if node.args else None
        if name in ("os.getenv", "os.environ.get"):
            return _SECRET_NAME.search("secret" if first is None else first) is not None
        if name in ("open", "io.open", "pathlib.Path", "os.path.expanduser"):
            return bool(first and _SECRET_PATH.search(first))
        spread = name in _SPREADING_CALLS and any(map(self._is_environment, node.args))
        return spread or name in self.returning or name in _SPREADING_ATTRIBUTES

    def _is_environment(self, node: ast.AST) -> bool:
        return self.names.of(node) in _ENVIRONMENT

    def _hand_on(self, scope: str, node: ast.AST) -> None:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            if id(node.value) in self.hot:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.secrets |= {(scope, n) for target in targets for n in _bound(target)}
        elif isinstance(node, ast.For | ast.comprehension) and id(node.iter) in self.hot:
            self.secrets |= {(scope, n) for n in _bound(node.target)}
        elif isinstance(node, ast.withitem) and node.optional_vars is not None and id(node.context_expr) in self.hot:
            self.secrets |= {(scope, n) for n in _bound(node.optional_vars)}
        elif isinstance(node, ast.Return) and scope and id(node.value) in self.hot:
            self.returning.add(scope)
        elif isinstance(node, ast.Call):
            for callee, arguments in self._calls(node):
                for parameter, argument in zip(self.parameters.get(callee, ()), arguments, strict=False):
                    if id(argument) in self.hot:
                        self.secrets.add((callee, parameter))

    def _calls(self, call: ast.Call) -> Iterator[tuple[str, list[ast.expr]]]:
        """Yield (function, arguments) of the call and of one it passes on, as `Thread(target=f, args=…)` does."""
        yield self.names.of(call.func), call.args
        for position, argument in enumerate(call.args):
            if isinstance(argument, ast.Name) and argument.id in self.parameters:
                yield argument.id, call.args[position + 1 :]
        arguments = keyword(call, "args")
        if isinstance(arguments, ast.Tuple | ast.List):
            yield dotted(keyword(call, "target") or call), arguments.elts

    def leaks(self) -> Iterator[Leak]:
        """Yield the sending calls whose arguments hold a secret."""
        urls = self._urls()
        for scope, nodes in self.scopes:
            for node in nodes:
                if isinstance(node, ast.Call) and self._sends(node):
                    openly = [*node.args, *(k.value for k in node.keywords if k.arg not in _CREDENTIAL_KEYWORDS)]
                    url = next((u for argument in node.args if (u := _url(scope, argument, urls))), "")
                    if any(map(self._holds_secret, openly)):
                        yield Leak(node.lineno, url, as_credential=False)
                    elif any(self._holds_secret(k.value) for k in node.keywords):
                        yield Leak(node.lineno, url, as_credential=True)

    def _holds_secret(self, argument: ast.AST) -> bool:
        return id(argument) in self.hot or self._is_environment(argument)

    def _sends(self, call: ast.Call) -> bool:
        name = self.names.of(call.func)
        return name in _SENDERS or (isinstance(call.func, ast.Attribute) and call.func.attr in _SENDING_METHODS)

    def _urls(self) -> dict[tuple[str, str], str]:
        """Return the names that are assigned a URL."""
        return {
            (scope, target.id): url
            for scope, nodes in self.scopes
            for node in nodes
            if isinstance(node, ast.Assign) and (url := next(urls_in(leading_text(node.value)), ""))
            for target in node.targets
            if isinstance(target, ast.Name)
        }


def _url(scope: str, argument: ast.expr, urls: dict[tuple[str, str], str]) -> str:
    if isinstance(argument, ast.Name):
        return urls.get((scope, argument.id)) or urls.get(("", argument.id), "")
    return next(urls_in(leading_text(argument)), "")


def _bound(target: ast.AST) -> list[str]:
    """Return the names that an assignment's target binds."""
    return [n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
