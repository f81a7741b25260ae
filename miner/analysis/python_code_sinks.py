"""Code that calls run, load, look up or build from what they are given."""

import ast
from typing import Final

from miner.analysis import python_tables as tables
from miner.analysis.python_parse import dotted, keyword
from miner.analysis.python_site import PLANTED, Hit, Site, power
from miner.analysis.python_value import COMPUTED, MADE

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
