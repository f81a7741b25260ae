"""Which capabilities Python source makes use of, from its imports and calls."""

import ast
from collections.abc import Iterator
from typing import Final

from miner.analysis.links import hosts_in, without_port
from miner.analysis.python_parse import Names, keyword, text_of
from miner.analysis.result import Use
from miner.analysis.source import SourceFile
from validator.protocol import vocabulary as cap

_MODULES: Final = {
    cap.NETWORK: (
        "socket ssl http.client http.server urllib.request urllib3 requests httpx aiohttp ftplib smtplib imaplib"
        " poplib telnetlib xmlrpc socketserver paramiko websockets websocket pycurl dns nntplib asyncssh"
    ),
    cap.SUBPROCESS: "subprocess pty pexpect sh plumbum",
    cap.SERIALIZATION: "pickle cPickle _pickle marshal shelve dill cloudpickle jsonpickle joblib yaml",
    cap.NATIVE_CODE: "ctypes cffi _ctypes",
    cap.DYNAMIC_CODE: "code codeop runpy imp",
}
_MODULE_CAPABILITY: Final = {module: name for name, modules in _MODULES.items() for module in modules.split()}
_CALLS: Final = {
    cap.SUBPROCESS: (
        "os.system os.popen os.fork os.forkpty os.posix_spawn os.startfile os.execv os.execve os.execvp os.execl"
        " os.execlp os.spawnl os.spawnv os.spawnvp asyncio.create_subprocess_exec asyncio.create_subprocess_shell"
    ),
    cap.NETWORK: "asyncio.open_connection asyncio.start_server",
    cap.DYNAMIC_CODE: (
        "eval exec compile __import__ importlib.import_module importlib.reload types.FunctionType types.CodeType"
        " builtins.eval builtins.exec"
    ),
    cap.ENV_READ: "os.getenv os.environ.get os.environ.copy os.environ.items os.getenvb",
    cap.FILE_READ: "os.listdir os.scandir os.walk glob.glob glob.iglob linecache.getline fileinput.input",
    cap.FILE_WRITE: (
        "os.mkdir os.makedirs os.rename os.replace os.chmod os.chown os.symlink os.link os.truncate shutil.copy"
        " shutil.copy2 shutil.copyfile shutil.copytree shutil.move shutil.make_archive shutil.unpack_archive"
    ),
    cap.FILE_DELETE: "os.remove os.unlink os.rmdir os.removedirs shutil.rmtree",
}
_CALL_CAPABILITY: Final = {call: name for name, calls in _CALLS.items() for call in calls.split()}
_METHODS: Final = {
    "read_text": cap.FILE_READ,
    "read_bytes": cap.FILE_READ,
    "iterdir": cap.FILE_READ,
    "rglob": cap.FILE_READ,
    "write_text": cap.FILE_WRITE,
    "write_bytes": cap.FILE_WRITE,
    "unlink": cap.FILE_DELETE,
    "rmdir": cap.FILE_DELETE,
}
_OPENERS: Final = frozenset(
    {"open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "tarfile.open", "zipfile.ZipFile"}
)
_RUNNERS: Final = frozenset({"run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput"})
_HOST_CALLS: Final = frozenset(
    {
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.create_connection",
        "http.client.HTTPConnection",
        "http.client.HTTPSConnection",
        "smtplib.SMTP",
        "smtplib.SMTP_SSL",
        "ftplib.FTP",
    }
)


def uses_of(source: SourceFile, nodes: list[ast.AST], names: Names) -> list[Use]:
    """Return every use of a capability in the module, with its pattern where the source spells one out."""
    uses = [use for node in nodes for use in _uses_in(source, node, names)]
    modules = [(module, line) for module, line in names.modules.items() if module in _MODULE_CAPABILITY]
    if any(_MODULE_CAPABILITY[module] == cap.NETWORK for module, _ in modules):
        uses += _hosts(source, nodes)
    spelled_out = {use.capability for use in uses}
    for module, line in modules:
        capability = _MODULE_CAPABILITY[module]
        if capability not in spelled_out:
            pattern = "" if capability in (cap.NETWORK, cap.SUBPROCESS) else module
            uses.append(Use(capability, source.place(line), pattern))
    return uses


def _uses_in(source: SourceFile, node: ast.AST, names: Names) -> Iterator[Use]:
    if isinstance(node, ast.Subscript) and names.of(node.value) == "os.environ":
        yield Use(cap.ENV_READ, source.place(node.lineno), text_of(node.slice) or "")
    if not isinstance(node, ast.Call):
        return
    place = source.place(node.lineno)
    name = names.of(node.func)
    first = node.args[0] if node.args else None
    if name in _OPENERS:
        mode = node.args[1] if len(node.args) > 1 else keyword(node, "mode")
        yield Use(_open_mode(mode), place, text_of(first) or "")
    elif name in _HOST_CALLS:
        yield Use(cap.NETWORK, place, _host(first))
    elif name.startswith("subprocess.") and name.rpartition(".")[2] in _RUNNERS:
        yield Use(cap.SUBPROCESS, place, _program(first))
    elif name in _CALL_CAPABILITY:
        capability = _CALL_CAPABILITY[name]
        pattern = _program(first) if capability == cap.SUBPROCESS else text_of(first) or ""
        yield Use(capability, place, name if capability == cap.DYNAMIC_CODE else pattern)
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "open":
        yield Use(_open_mode(first or keyword(node, "mode")), place, _path_literal(node.func.value, names))
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        yield Use(_METHODS[node.func.attr], place, _path_literal(node.func.value, names))


def _open_mode(mode: ast.expr | None) -> str:
    return cap.FILE_WRITE if set(text_of(mode) or "") & set("wax+") else cap.FILE_READ


def _program(node: ast.expr | None) -> str:
    """Return the program that a command starts with, its folder dropped."""
    if isinstance(node, ast.List | ast.Tuple) and node.elts:
        return (text_of(node.elts[0]) or "").rpartition("/")[2]
    words = (text_of(node) or "").split()
    return words[0].rpartition("/")[2] if words else ""


def _host(node: ast.expr | None) -> str:
    if isinstance(node, ast.Tuple) and node.elts:
        node = node.elts[0]
    return without_port(text_of(node) or "")


def _path_literal(node: ast.expr, names: Names) -> str:
    """Return the path of `Path("…")`, also with literal parts joined by `/`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        parts: list[ast.expr] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            parts.append(node.right)
            node = node.left
        texts = [_path_literal(node, names), *(text_of(part) or "" for part in reversed(parts))]
        return "/".join(texts) if all(texts) else ""
    if isinstance(node, ast.Call) and names.of(node.func) == "pathlib.Path" and len(node.args) == 1:
        return text_of(node.args[0]) or ""
    return ""


def _hosts(source: SourceFile, nodes: list[ast.AST]) -> Iterator[Use]:
    """Yield the hosts of the URLs that the code spells out; what stands in docstrings is documentation."""
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in prose
            and "://" in node.value
        ):
            for host in sorted(hosts_in(node.value)):
                yield Use(cap.NETWORK, source.place(node.lineno), host)
