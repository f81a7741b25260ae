"""Python source: capabilities, sinks, leaks, bandit's checks, written-in secrets and hidden characters."""

import ast
import re
from collections.abc import Iterable
from typing import Final

from miner.analysis.bandit_run import bandit_findings, effort
from miner.analysis.bounds import BANDIT_EFFORT, Budget
from miner.analysis.hidden_text import invisible_characters
from miner.analysis.python_capabilities import uses_of
from miner.analysis.python_flow import Flow
from miner.analysis.python_order import frames_of
from miner.analysis.python_parse import Names, UnreadableSourceError, parse
from miner.analysis.python_rules import objections
from miner.analysis.result import BEYOND, Report, found, merged
from miner.analysis.secret_scan import secrets_in
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Finding

_INTERESTING: Final = re.compile(
    rb"subprocess|eval\(|exec\(|socket|pickle|environ|getenv|requests|urllib|ctypes|b64decode|marshal|os\.system|__import__|shell=True"
)
_CODING: Final = re.compile(rb"\A(?:[^\n]*\n)?[^\n]{0,200}coding[:=][ \t]*([-\w.]+)")
_USUAL_CODINGS: Final = frozenset(
    {b"utf-8", b"utf8", b"ascii", b"latin-1", b"latin1", b"iso-8859-1", b"us-ascii", b"utf-8-sig"}
)


def read_python(sources: Iterable[SourceFile], budget: Budget) -> Report:
    """Return what the Python files hold. Where the budget does not reach all of them, the telling ones come first."""
    ordered = sorted(sources, key=lambda s: (-len(_INTERESTING.findall(s.content)), s.path))
    read = [source for source in ordered if budget.take_python(len(source.content))]
    reports = [_read_module(source, budget) for source in read]
    if left := sorted(set(ordered) - set(read), key=lambda s: s.path):
        text = f"{len(left)} Python files are beyond what is read of one bundle, this one first."
        reports.append(Report(findings=(found("other", "medium", left[0].place(), text, left[0].path),)))
    return merged(reports)


def _read_module(source: SourceFile, budget: Budget) -> Report:
    findings: list[Finding] = [*invisible_characters(source, code=True), *secrets_in(source), *_odd_coding(source)]
    try:
        tree = parse(source.content)
    except UnreadableSourceError as error:
        findings.append(found("other", "low", source.place(), f"The file is {error}.", source.path))
        return Report(findings=tuple(findings))
    nodes = list(ast.walk(tree))
    if not budget.take_nodes(len(nodes)):
        findings.append(found("other", "medium", source.place(), BEYOND, source.path))
        return Report(findings=tuple(findings))
    names = Names(nodes)
    findings += objections(source, Flow(frames_of(tree), names), nodes, budget)
    if effort(nodes) <= BANDIT_EFFORT and budget.take_bandit(len(nodes)):
        findings += bandit_findings(source, tree)
    return Report(findings=tuple(findings), uses=tuple(uses_of(source, nodes, names)))


def _odd_coding(source: SourceFile) -> Iterable[Finding]:
    match = _CODING.match(source.content[:1_000])
    if match and match[1].lower().replace(b"_", b"-") not in _USUAL_CODINGS:
        yield found(
            "other", "medium", source.place(), "An unusual source encoding can hide code from readers.", source.path
        )
