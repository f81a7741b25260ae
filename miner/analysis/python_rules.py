"""Every rule over a Python module whose values were followed."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from miner.analysis import python_tables as tables
from miner.analysis.bounds import Budget
from miner.analysis.python_commands import words_of
from miner.analysis.python_flow import Flow
from miner.analysis.python_leaks import leak_of
from miner.analysis.python_parse import dotted
from miner.analysis.python_sinks import hits_of
from miner.analysis.python_unpack import is_blob
from miner.analysis.python_value import DECODED, HOLE, MADE, NUMBERS, STARTS
from miner.analysis.result import found
from miner.analysis.secret_scan import hidden_secret, is_secret
from miner.analysis.shell_code import objections_to
from miner.analysis.shell_parser import parse_script
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Finding, Severity

_MAX_COMMAND: Final = 4_096
_TLS_VARIABLES: Final = {
    "PYTHONHTTPSVERIFY": ("0",),
    "GIT_SSL_NO_VERIFY": ("1", "true"),
    "NODE_TLS_REJECT_UNAUTHORIZED": ("0",),
    "CURL_CA_BUNDLE": ("",),
    "REQUESTS_CA_BUNDLE": ("",),
}


def objections(source: SourceFile, flow: Flow, nodes: list[ast.AST], budget: Budget) -> Iterator[Finding]:
    """Yield what the rules object to, node by node."""
    written = _written(flow, nodes)
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _of_call(source, flow, node, written, budget)
        elif isinstance(node, ast.Assign):
            yield from _of_assignment(source, flow, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield from _of_literal(source, node, node.value)
        if isinstance(node, ast.Call | ast.BinOp | ast.JoinedStr | ast.Subscript | ast.AugAssign):
            yield from _of_text(source, flow, node)


def _written(flow: Flow, nodes: list[ast.AST]) -> bool:
    """Whether something is written into an open file that makes programs start: then that place is named."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in ("write", "writelines") and flow.of(node.value).labels & STARTS
        for node in nodes
    )


def _of_call(source: SourceFile, flow: Flow, node: ast.Call, written: bool, budget: Budget) -> Iterator[Finding]:
    place = source.place(node.lineno)
    for hit in hits_of(flow, node):
        yield found(hit.category, hit.severity, place, hit.text, source.path)
    if flow.of(node).labels & STARTS and flow.of(node).items and not written and _opens(flow, node):
        text = "The code opens a file that makes programs start by themselves."
        yield found("excessive_capability", "high", place, text, source.path)
    leak = leak_of(flow, node)
    if leak is not None:
        what, how = "A secret of the environment", "is used as a credential."
        if not leak.as_credential:
            what, how = f"{what} or of a file", "is sent away."
        severity: Severity = "low" if leak.as_credential else "critical"
        yield found("secrets_exposure", severity, place, f"{what} {how}", leak.url or source.path)
    yield from _of_command(source, flow, node, budget)


def _opens(flow: Flow, node: ast.Call) -> bool:
    names = flow.of(node.func).symbols
    return any(name in tables.OPENERS for name in names) or (
        isinstance(node.func, ast.Attribute) and node.func.attr == "open"
    )


def _of_command(source: SourceFile, flow: Flow, node: ast.Call, budget: Budget) -> Iterator[Finding]:
    """Yield what the rules for shells object to in a command line that a call spells out."""
    for one in flow.calls(node):
        names = [name for name in one.function.symbols if name in tables.SPAWNERS]
        if not names:
            continue
        words = words_of(one.arguments)
        texts = [word.texts[0] if word.texts else HOLE for word in words]
        line = next((text for text in texts if " " in text), "") if len(texts) != 1 else texts[0]
        if len(texts) > 1 and texts[0].rpartition("/")[2] not in tables.SHELL_PROGRAMS:
            line = " ".join(_quoted(text) for text in texts[:64])
        line = line.replace(HOLE, "$value")[:_MAX_COMMAND]
        if not line.strip() or not budget.take_shell(len(line)):
            continue
        for _, _, hit in objections_to(parse_script(line)):
            if hit.category == "excessive_capability" or (len(words) == 1 and hit.severity in ("high", "critical")):
                place = source.place(node.lineno)
                yield found(hit.category, hit.severity, place, hit.text, hit.target or source.path)


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w@%+=:,./~*\0-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def _of_assignment(source: SourceFile, flow: Flow, node: ast.Assign) -> Iterator[Finding]:
    value = node.value
    for target in node.targets:
        if isinstance(target, ast.Attribute):
            off = isinstance(value, ast.Constant) and value.value is False
            if (
                (target.attr == "verify_mode" and dotted(value).endswith("CERT_NONE"))
                or (target.attr == "verify" and off)
                or (
                    target.attr == "_create_default_https_context"
                    and "ssl._create_unverified_context" in flow.of(value).symbols
                )
            ):
                text = "Certificates are not verified."
                yield found("excessive_capability", "medium", source.place(node.lineno), text, source.path)
        elif isinstance(target, ast.Subscript) and flow.of(target.value).symbols == ("os.environ",):
            name = flow.of(target.slice).known() or ""
            if isinstance(value, ast.Constant) and value.value in _TLS_VARIABLES.get(name, ()):
                text = "Certificates are not verified."
                yield found("excessive_capability", "medium", source.place(node.lineno), text, source.path)


def _of_literal(source: SourceFile, node: ast.Constant, value: str | bytes) -> Iterator[Finding]:
    place = source.place(node.lineno)
    text = value if isinstance(value, str) else value[:8_192].decode("latin-1")
    if hidden_secret(text):
        yield found("secrets_exposure", "high", place, "A literal holds a packed secret.", source.path)
    elif is_blob(value):
        yield found("other", "low", place, "A long encoded literal hides what it holds.", source.path)


def _of_text(source: SourceFile, flow: Flow, node: ast.expr | ast.AugAssign) -> Iterator[Finding]:
    """Yield secrets that are put together of pieces, where the last piece comes in."""
    value = flow.of(node)
    if not value.labels & (MADE | DECODED):
        return
    for text in value.texts:
        if HOLE not in text and is_secret(text) and not _within(flow, node, text):
            what = "A secret is put together of pieces."
            yield found("secrets_exposure", "high", source.place(node.lineno), what, source.path)
            return


def _within(flow: Flow, node: ast.expr | ast.AugAssign, text: str) -> bool:
    """Whether a part of the expression is the text already."""
    parts = (flow.of(child) for child in ast.iter_child_nodes(node))
    return any(text in part.texts and not part.labels & NUMBERS for part in parts) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and text in flow.of(node.func.value).texts
    )
