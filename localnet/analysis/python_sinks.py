"""Calls that hand control or data to something else: one rule per family."""

import ast
import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Final

from localnet.analysis.python_parse import Names, Scope, dotted, keyword, leading_text, text_of
from localnet.analysis.result import found
from localnet.analysis.source import SourceFile
from validator.protocol.sssa import Category, Finding, Severity

_EVALUATORS: Final = frozenset({"eval", "exec", "builtins.eval", "builtins.exec"})
Hit = tuple[Category, Severity, str]
_DECODERS: Final = frozenset(
    {
        "base64.b64decode",
        "base64.b85decode",
        "base64.b32decode",
        "base64.b16decode",
        "base64.decodebytes",
        "zlib.decompress",
        "gzip.decompress",
        "bz2.decompress",
        "lzma.decompress",
        "marshal.loads",
        "codecs.decode",
        "bytes.fromhex",
        "binascii.unhexlify",
        "binascii.a2b_base64",
        "urllib.request.urlopen",
        "requests.get",
    }
)
_UNPICKLERS: Final = frozenset(
    {
        f"{m}.{f}"
        for m in ("pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal")
        for f in ("load", "loads", "Unpickler")
    }
    | {"shelve.open", "jsonpickle.decode", "joblib.load"}
)
_SAFE_LOADERS: Final = ("SafeLoader", "CSafeLoader", "BaseLoader")
_VERIFYING: Final = ("requests", "httpx", "aiohttp")
_SHELLS: Final = frozenset({"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"})
_PERSISTENT: Final = (
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    "crontab",
    "/etc/cron",
    "autostart",
    "LaunchAgents",
    "authorized_keys",
    "sitecustomize",
)
_LONG_LITERAL: Final = 200  # characters


def sinks_of(source: SourceFile, scopes: list[Scope], names: Names) -> Iterator[Finding]:
    """Yield a finding for every call of the module that a rule is about."""
    of_module: set[str] = set()
    for scope in scopes:
        decoded = of_module | _decoded_names(scope.nodes, names)
        if not scope.name:
            of_module = decoded
        for node in scope.nodes:
            if isinstance(node, ast.Call):
                for category, severity, text in _hits(node, names, decoded):
                    yield found(category, severity, source.place(node.lineno), text, source.path)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and _is_blob(node.value):
                text = "A long encoded literal hides what it holds."
                yield found("other", "low", source.place(node.lineno), text, source.path)


def _hits(call: ast.Call, names: Names, decoded: set[str]) -> Iterator[Hit]:
    name = names.of(call.func)
    for rule in _RULES:
        hit = rule(name, call, names)
        if hit is not None:
            yield hit
    if name in _EVALUATORS and call.args and _decodes(call.args[0], names, decoded):
        yield "excessive_capability", "critical", "Code is decoded or fetched and then executed."


def _eval(name: str, call: ast.Call, _: Names) -> Hit | None:
    if name not in _EVALUATORS or not call.args:
        return None
    if text_of(call.args[0]) is not None:
        return "other", "low", f"{name} runs a literal."
    return "excessive_capability", "medium", f"{name} runs what it is given."


def _shell(name: str, call: ast.Call, _: Names) -> Hit | None:
    command = call.args[0] if call.args else None
    if name.startswith("subprocess."):
        flag = keyword(call, "shell")
        if name not in _SHELLS and not (isinstance(flag, ast.Constant) and flag.value is True):
            return None
    elif name not in _SHELLS:
        return None
    if text_of(command) is not None:
        return "excessive_capability", "low", "A fixed command line goes through a shell."
    return "excessive_capability", "medium", "A command line that is put together at run time goes through a shell."


def _unpickle(name: str, _: ast.Call, __: Names) -> Hit | None:
    if name in _UNPICKLERS:
        return "excessive_capability", "medium", f"{name} runs code that its input names."
    return None


def _yaml(name: str, call: ast.Call, _: Names) -> Hit | None:
    if name not in ("yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load"):
        return None
    loader = keyword(call, "Loader") or (call.args[1] if len(call.args) > 1 else None)
    if name != "yaml.unsafe_load" and loader is not None and dotted(loader).rpartition(".")[2] in _SAFE_LOADERS:
        return None
    return "excessive_capability", "medium", f"{name} builds objects that its input names; safe_load does not."


def _unverified(name: str, call: ast.Call, _: Names) -> Hit | None:
    verify = keyword(call, "verify") or keyword(call, "verify_ssl")
    switched_off = isinstance(verify, ast.Constant) and verify.value is False and name.partition(".")[0] in _VERIFYING
    if switched_off or name == "ssl._create_unverified_context":
        return "other", "medium", "Certificates are not verified."
    return None


def _import(name: str, call: ast.Call, _: Names) -> Hit | None:
    argument = call.args[0] if call.args else None
    if (
        name in ("__import__", "importlib.import_module")
        and isinstance(argument, ast.BinOp | ast.JoinedStr)
        and leading_text(argument)
    ):
        return "other", "low", "The name of an imported module is put together at run time."
    if name == "getattr" and len(call.args) > 1 and dotted(call.args[0]) in ("__builtins__", "builtins"):
        return "excessive_capability", "medium", "A builtin is looked up by a name that is put together at run time."
    return None


def _persistence(name: str, call: ast.Call, _: Names) -> Hit | None:
    argument = text_of(call.args[0]) if call.args else None
    if argument and name in ("open", "pathlib.Path", "os.path.expanduser") and any(p in argument for p in _PERSISTENT):
        return "excessive_capability", "high", "The code reaches for a file that makes programs start by themselves."
    return None


_RULES: Final[tuple[Callable[[str, ast.Call, Names], Hit | None], ...]] = (
    _eval,
    _shell,
    _unpickle,
    _yaml,
    _unverified,
    _import,
    _persistence,
)


def _decodes(expression: ast.AST, names: Names, decoded: set[str]) -> bool:
    return any(
        (isinstance(node, ast.Call) and names.of(node.func) in _DECODERS)
        or (isinstance(node, ast.Name) and node.id in decoded)
        for node in ast.walk(expression)
    )


def _decoded_names(nodes: list[ast.AST], names: Names) -> set[str]:
    """Return the names that are assigned something decoded or fetched, in two hops at most."""
    known: set[str] = set()
    for _ in range(2):
        for node in nodes:
            if isinstance(node, ast.Assign) and _decodes(node.value, names, known):
                known |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return known


def _is_blob(value: str | bytes) -> bool:
    if len(value) < _LONG_LITERAL:
        return False
    raw = value.encode("ascii", "replace") if isinstance(value, str) else value
    if b" " in raw or b"\n" in raw.rstrip():
        return False
    try:
        return bool(base64.b64decode(raw.rstrip(), validate=True))
    except (binascii.Error, ValueError):
        return False
