"""JavaScript and TypeScript of a bundle: capabilities, sinks, leaks, tools, written-in secrets, hidden characters."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from miner.analysis.bounds import Budget
from miner.analysis.hidden_text import invisible_characters
from miner.analysis.mcp_tool import Offer, poisoned
from miner.analysis.result import Report, found, merged
from miner.analysis.script.commands import commands_of
from miner.analysis.script.flow import Flow
from miner.analysis.script.leaks import leaks_of
from miner.analysis.script.names import Names
from miner.analysis.script.scopes import Scopes
from miner.analysis.script.secrets import secrets_of
from miner.analysis.script.sinks import sinks_of
from miner.analysis.script.syntax import UnreadableScriptError, language_of, parse
from miner.analysis.script.tools import tools_of
from miner.analysis.script.uses import uses_of
from miner.analysis.secret_scan import secrets_in
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Finding

_TELLING: Final = re.compile(
    rb"child_process|eval\(|Function\(|process\.env|fetch\(|axios|https?\.|net\.|\.tool\(|registerTool|inputSchema"
    rb"|base64|atob|\.ssh|execSync|spawn"
)
_LONG_LINE: Final = 1_000  # bytes
_CODE: Final = re.compile(rb"[;{}(),=]")  # a line without many of these is data
_DATA: Final = 50  # bytes for each of them
_SMALL: Final = 2_000  # bytes of a file that nobody had to minify


class Scripts(NamedTuple):
    """What the files hold, and the tools that they offer to a model."""

    report: Report
    offered: tuple[Offer, ...]


def read_scripts(sources: Iterable[SourceFile], budget: Budget) -> Scripts:
    """Return what the JavaScript and TypeScript files hold. Where the budget ends, the telling ones came first."""
    files = [source for source in sources if language_of(source) is not None]
    ordered = sorted(files, key=lambda s: (is_minified(s), -len(_TELLING.findall(s.content)), s.path))
    read = [_read_file(source, budget) for source in ordered]
    offered = tuple(offer for scripts in read for offer in scripts.offered)
    names = frozenset(offer.tool.name for offer in offered)
    bad = tuple(finding for offer in offered if (finding := poisoned(offer, names)) is not None)
    return Scripts(merged([*(scripts.report for scripts in read), Report(findings=bad)]), offered)


def findings_in(code: str, source: SourceFile, line: int, budget: Budget) -> list[Finding]:
    """Return what the rules find in code that another file spells out in one line."""
    inline = SourceFile("inline.js", code.encode("utf-8", "replace"))
    language = language_of(inline)
    try:
        flow = Flow(Names(Scopes(parse(inline.content, language, budget)))) if language is not None else None
    except UnreadableScriptError:
        return [found("other", "medium", source.place(line), "The code in this line is unread.", source.path)]
    findings = (
        [*sinks_of(inline, flow), *commands_of(inline, flow, budget), *leaks_of(inline, flow)]
        if flow is not None
        else []
    )
    targets = {inline.path: source.path}
    return [
        found(
            f.category, f.severity, source.place(line), f.description, targets.get(f.target_pattern, f.target_pattern)
        )
        for f in findings
    ]


def is_minified(source: SourceFile) -> bool:
    """Whether most of the file stands in lines that nobody reads."""
    if len(source.content) < _SMALL:
        return False
    long = [line for line in source.content.split(b"\n") if len(line) > _LONG_LINE]
    code = [line for line in long if _DATA * len(_CODE.findall(line)) > len(line)]
    return 2 * sum(map(len, code)) > len(source.content)


def _read_file(source: SourceFile, budget: Budget) -> Scripts:
    findings: list[Finding] = [*invisible_characters(source, code=True), *secrets_in(source)]
    language = language_of(source)
    minified = is_minified(source)
    if minified:
        text = "The file is minified: it is unread but for what the rules find in it."
        findings.append(found("other", "medium", source.place(), text, source.path))
    try:
        if language is None:
            raise UnreadableScriptError("not JavaScript or TypeScript")
        names = Names(Scopes(parse(source.content, language, budget)))
    except UnreadableScriptError as error:
        findings.append(found("other", "medium", source.place(), f"The file is unread: {error}.", source.path))
        return Scripts(Report(findings=tuple(findings), unread=True), ())
    flow = Flow(names)
    findings += sinks_of(source, flow)
    findings += commands_of(source, flow, budget)
    findings += leaks_of(source, flow)
    known = frozenset(finding.evidence_ref for finding in findings if finding.category == "secrets_exposure")
    findings += secrets_of(source, flow, known)
    report = Report(findings=tuple(findings), uses=tuple(uses_of(source, names)), unread=minified)
    return Scripts(report, tuple(Offer(source, tool) for tool in tools_of(names)))
