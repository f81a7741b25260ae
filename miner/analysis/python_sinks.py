"""Rules about calls and what they are given: code, programs and settings of the system."""

import ast
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from miner.analysis import python_tables as tables
from miner.analysis.python_commands import line_of, words_of
from miner.analysis.python_flow import Flow, PassedCall
from miner.analysis.python_parse import dotted, keyword
from miner.analysis.python_value import CLIENT, COMPUTED, DECODED, FETCHED, HOLE, MADE, SOCKET, STARTS, Value
from validator.protocol.sssa import Category, Severity

PLANTED: Final = FETCHED | DECODED  # what somebody else may have put there


class Hit(NamedTuple):
    """A rule's objection."""

    category: Category
    severity: Severity
    text: str


def power(severity: Severity, text: str) -> Hit:
    """Return the objection that code can do more than it should."""
    return Hit("excessive_capability", severity, text)


class Site(NamedTuple):
    """A call as the rules look at it.

    Attributes:
        names: dotted names that the function may have.
        one: the call, or one that it passes on.
        node: where it stands.
        passed: whether it is passed on.
    """

    names: tuple[str, ...]
    one: PassedCall
    node: ast.Call
    flow: Flow
    passed: bool

    def is_any(self, known: frozenset[str]) -> str:
        """Return a name of the function that is known."""
        return next((name for name in self.names if name in known), "")

    def first(self) -> Value:
        """Return the first argument, whatever it is called."""
        return self.one.arguments.at(0, "args", "source", "object", "cmd", "command", "name", "path")


_SAFE_LOADERS: Final = ("SafeLoader", "CSafeLoader", "BaseLoader")
_BUILTINS: Final = frozenset({"builtins", "__builtins__"})


def evaluated(site: Site) -> Hit | None:
    """Text that is run as code."""
    name = site.is_any(tables.EVALUATORS)
    if not name or not (site.one.arguments.positional or site.one.arguments.keywords):
        return None
    code = site.first()
    if code.labels & PLANTED or site.flow.reads(code) & PLANTED:
        return power("critical", "Code is decoded or fetched and then executed.")
    if site.one.function.labels & COMPUTED:
        return power("high", f"{name} is looked up by a name that is put together, and called.")
    if code.known() is not None and not code.labels & MADE:
        return Hit("other", "low", f"{name} runs a literal.")
    return power("medium", f"{name} runs what it is given.")


def computed(site: Site) -> Hit | None:
    """Functions that are looked up by a name that is put together."""
    if not site.one.function.labels & COMPUTED or site.passed or site.is_any(tables.EVALUATORS):
        return None
    for name in site.names:
        module, _, rest = name.rpartition(".")
        if rest == "?" and (not module or module in tables.DANGEROUS_MODULES):
            return power("medium", "A function is looked up by a name that is put together at run time, and called.")
        if name in tables.SPAWNERS | tables.UNPICKLERS | tables.LOADERS | {"compile", "__import__"}:
            return power("high", f"{name} is looked up by a name that is put together, and called.")
    return None


def unpickled(site: Site) -> Hit | None:
    """Objects whose input names code to run."""
    name = site.is_any(tables.UNPICKLERS)
    if not name:
        return None
    data = site.one.arguments.at(0, "file", "data", "f", "filepath_or_buffer")
    if data.labels & PLANTED or site.flow.reads(data) & PLANTED:
        return power("high", f"{name} runs code that something fetched or decoded names.")
    if name in tables.QUIET_UNPICKLERS:
        return None
    return power("medium", f"{name} runs code that its input names.")


def loaded(site: Site) -> Hit | None:
    """Modules and libraries that are loaded from what was fetched, decoded or put together."""
    name = site.is_any(tables.LOADERS)
    if not name:
        return None
    for value in site.one.arguments.all():
        if value.labels & PLANTED or site.flow.reads(value) & PLANTED:
            return power("high", "What is loaded as code was fetched or decoded.")
    if name in ("importlib.import_module", "__import__") and not site.passed:
        argument = site.node.args[0] if site.node.args else None
        if isinstance(argument, ast.BinOp | ast.JoinedStr) and site.first().texts:
            return Hit("other", "low", "The name of an imported module is put together at run time.")
    return None


def unsafe_yaml(site: Site) -> Hit | None:
    """YAML whose input names objects to build."""
    name = site.is_any(frozenset({"yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load"}))
    if not name:
        return None
    loader = keyword(site.node, "Loader") or (site.node.args[1] if len(site.node.args) > 1 else None)
    if name != "yaml.unsafe_load" and loader is not None and dotted(loader).rpartition(".")[2] in _SAFE_LOADERS:
        return None
    return power("medium", f"{name} builds objects that its input names; safe_load does not.")


def hidden_builtin(site: Site) -> Hit | None:
    """Builtins that are looked up by a name that is put together."""
    call = site.node
    if site.passed or site.names != ("getattr",) or len(call.args) < 2:  # noqa: PLR2004 - an object and a name
        return None
    if isinstance(call.args[1], ast.Constant) or _BUILTINS.isdisjoint(site.one.arguments.at(0).symbols):
        return None
    return power("medium", "A builtin is looked up by a name that is put together at run time.")


def started(site: Site) -> Hit | None:
    """Programs: what is decoded or fetched, a shell for somebody else, a line that is put together."""
    name = site.is_any(tables.SPAWNERS)
    if not name:
        return None
    words = words_of(site.one.arguments)
    text = site.one.arguments.keywords.get("input")
    program = (words[0].texts[0] if words and words[0].texts else "").partition(" ")[0].rpartition("/")[2]
    runs_words = not program or program in tables.INTERPRETERS or name in tables.SHELLS
    labels = 0
    for word in words if runs_words else words[:1]:
        labels |= word.labels
    fed = text.labels if text is not None and program in tables.INTERPRETERS else 0
    streams = [site.one.arguments.keywords.get(key) for key in ("stdin", "stdout", "stderr")]
    if any(stream is not None and stream.labels & SOCKET for stream in streams):
        return power("critical", "A program is started with a network connection for its input and output.")
    if (labels | fed) & FETCHED or (labels | fed) & DECODED:
        return power("critical", "A command that is decoded or fetched is run.")
    if any(site.flow.reads(word) & PLANTED for word in (words if runs_words else words[:1])):
        return power("critical", "A file that was fetched or decoded is run.")
    return None


def managed(site: Site) -> Hit | None:
    """Command lines that change what starts, what is installed, or whom programs believe."""
    if not site.is_any(tables.SPAWNERS):
        return None
    words = words_of(site.one.arguments)
    program = (words[0].texts[0] if words and words[0].texts else "").partition(" ")[0].rpartition("/")[2]
    line = line_of(site.one.arguments)
    if tables.FOREIGN_INSTALL.search(line):
        return power("high", "Packages are installed at run time from an address of the author's choice.")
    if tables.UNCHECKED_COMMAND.search(line):
        return power("medium", "Certificates are not verified.")
    if tables.START_COMMAND.search(line) or (program == "crontab" and _changes(words)):
        return power("high", "A program is set up to start by itself.")
    return None


def _changes(words: list[Value]) -> bool:
    return len(words) > 1 and words[1].texts != ("-l",)


def through_shell(site: Site) -> Hit | None:
    """Command lines that a shell reads."""
    name = site.is_any(tables.SPAWNERS)
    flag = site.one.arguments.keywords.get("shell")
    through = name in tables.SHELLS
    if name and not through and flag is not None:
        node = keyword(site.node, "shell")
        through = isinstance(node, ast.Constant) and node.value is True
    words = words_of(site.one.arguments) if name else []
    if name and not through and len(words) > 2:  # noqa: PLR2004 - a shell, -c and its line
        program = (words[0].texts[0] if words[0].texts else "").rpartition("/")[2]
        through = program in tables.SHELL_PROGRAMS and words[1].texts in (("-c",), ("/c",), ("-Command",), ("-lc",))
        words = words[2:]
        if through and words[0].known() is not None:
            return None
    if not through or not words:
        return None
    if words[0].known() is not None and not (words[0].labels & MADE and not words[0].texts):
        return power("low", "A fixed command line goes through a shell.")
    return power("medium", "A command line that is put together at run time goes through a shell.")


def duplicated(site: Site) -> Hit | None:
    """`dup2` of a connection over standard input and output: what is started then belongs to the other side."""
    if any(name == "os.dup2" for name in site.names) and site.first().labels & SOCKET:
        return power("critical", "A network connection takes the place of standard input or output.")
    return None


_CHECKS: Final = ("verify", "verify_ssl", "ssl", "verify_certs", "check_hostname", "validate_certs")
_PLACING: Final = frozenset(
    {
        *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "shutil.copytree"),
        *("os.rename", "os.replace", "os.link", "os.symlink"),
    }
)


def unverified(site: Site) -> Hit | None:
    """Connections that verify no certificate."""
    known = bool(site.one.receiver.labels & CLIENT) or any(map(tables.VERIFYING.search, site.names))
    if "ssl._create_unverified_context" in site.names or any(
        _unchecks(one, known=known) for one in (() if site.passed else site.node.keywords)
    ):
        return power("medium", "Certificates are not verified.")
    return None


def _unchecks(one: ast.keyword, *, known: bool) -> bool:
    value = one.value.value if isinstance(one.value, ast.Constant) else None
    if one.arg in ("cert_reqs", "verify_mode"):
        return dotted(one.value).endswith("CERT_NONE") or value in ("CERT_NONE", "NONE")
    if one.arg == "disable_ssl_certificate_validation":
        return value is True
    return known and value is False and one.arg in _CHECKS


def persistent(site: Site) -> Hit | None:
    """What makes programs start by themselves."""
    given = site.one.arguments
    if site.one.method in ("write", "writelines", "print") and site.one.receiver.labels & STARTS:
        return power("high", "The code writes a file that makes programs start by themselves.")
    target = None
    if site.one.method in ("write_text", "write_bytes", "symlink_to", "hardlink_to"):
        target = site.one.receiver
    elif site.is_any(_PLACING):
        target = given.at(1, "dst", "dest")
    elif site.one.function.symbols and "print" in site.names:
        handle = given.keywords.get("file")
        if handle is not None and handle.labels & STARTS:
            return power("high", "The code writes a file that makes programs start by themselves.")
    if target is not None and any(map(tables.START_PATH.search, target.texts)):
        return power("high", "The code writes a file that makes programs start by themselves.")
    if any(name in ("winreg.SetValueEx", "winreg.SetValue", "_winreg.SetValueEx") for name in site.names):
        return power("high", "A value of the registry is set, which can make programs start by themselves.")
    return None


def deleted(site: Site) -> Hit | None:
    """Folders of the system or of a user that are deleted as a whole."""
    if site.is_any(tables.DELETERS):
        paths, recursive = site.first(), bool(site.is_any(tables.RECURSIVE_DELETERS))
    elif site.one.method in ("unlink", "rmdir", "rmtree") and not site.names:
        paths, recursive = site.one.receiver, False
    else:
        return None
    for text in paths.texts:
        plain = text.rstrip("/") or "/"
        if tables.BROAD_PATH.fullmatch(plain) and plain.strip(HOLE + "/") and (recursive or HOLE in text):
            return power("critical", "A whole system or home folder is deleted.")
        if plain == "/" and text and recursive:
            return power("critical", "A whole system or home folder is deleted.")
    return None


_RULES: Final[tuple[Callable[[Site], Hit | None], ...]] = (
    evaluated,
    computed,
    started,
    managed,
    through_shell,
    unpickled,
    loaded,
    unsafe_yaml,
    unverified,
    hidden_builtin,
    persistent,
    deleted,
    duplicated,
)


def hits_of(flow: Flow, node: ast.Call) -> Iterator[Hit]:
    """Yield what the rules object to in a call."""
    for position, one in enumerate(flow.calls(node)):
        names = tuple(s for s in one.function.symbols if not s.startswith("def "))
        site = Site(names, one, node, flow, position > 0)
        for rule in _RULES:
            hit = rule(site)
            if hit is not None:
                yield hit
