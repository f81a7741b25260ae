"""Bandit as a library: its checks run over syntax trees in memory, no file is opened and nothing is printed."""

import ast
import io
import logging
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from miner.analysis.python_parse import quiet
from miner.analysis.result import found
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Category, Finding, Severity

# Asserts are no risk; imports and calls that the own rules judge in context would only be counted twice.
_EXCLUDED: Final = (
    *("B101", "B102", "B108", "B110", "B112", "B301", "B302", "B307", "B310", "B311", "B323", "B401", "B402", "B403"),
    *("B404", "B405", "B406", "B407", "B408", "B409", "B410", "B411", "B412", "B413", "B414", "B415", "B501", "B506"),
    *("B602", "B603", "B604", "B605", "B606", "B607", "B609", "B613"),
)
_CATEGORY: Final[dict[str, Category]] = {
    "B105": "secrets_exposure",
    "B106": "secrets_exposure",
    "B107": "secrets_exposure",
    "B103": "excessive_capability",
    "B202": "excessive_capability",
}
# Bandit grades what could go wrong in a service; a skill is judged by what it does, so its grades count one less.
_SEVERITY: Final[dict[str, Severity]] = {"HIGH": "medium", "MEDIUM": "low", "LOW": "low"}
_FILE_NAME: Final = "./module.py"  # bandit looks for packages beside the name it is given: it gets none to look beside


def bandit_findings(source: SourceFile, tree: ast.Module) -> Iterator[Finding]:
    """Yield bandit's issues with the file, `# nosec` comments notwithstanding. The tree is annotated on the way."""
    for issue in _issues(source.content, tree):
        name, line, text = issue.test_id, max(issue.lineno or 1, 1), " ".join(issue.text.split())
        category = _CATEGORY.get(name, "other")
        description = name if category == "secrets_exposure" else f"{name}: {text}"  # its text may repeat the value
        yield found(
            category, _SEVERITY.get(issue.severity, "low"), source.place(line), f"Bandit {description}", source.path
        )


def _issues(content: bytes, tree: ast.Module) -> list[Any]:
    bandit = _bandit()
    metrics = bandit.metrics()
    visitor = bandit.visitor(_FILE_NAME, io.BytesIO(content), None, bandit.tests, False, {}, metrics)
    visitor.tester = bandit.tester(bandit.tests, False, {}, metrics)
    try:
        visitor.generic_visit(tree)
    except RecursionError:
        return []  # the own rules walk without recursion and have read the file
    return sorted(visitor.tester.results, key=lambda issue: (issue.lineno or 0, issue.test_id, issue.text))


def effort(nodes: list[ast.AST]) -> int:
    """Return what bandit spends on lists of line numbers: a node's lines, for itself and for each literal in it."""
    total = 0
    for node in nodes:
        span = (getattr(node, "end_lineno", None) or 0) - (getattr(node, "lineno", None) or 0)
        if span > 0:
            total += span * (1 + sum(isinstance(child, ast.Constant) for child in ast.iter_child_nodes(node)))
    return total


class _Bandit(NamedTuple):
    """The parts of bandit that are used, classes but for the test set."""

    visitor: Any
    tester: Any
    metrics: Any
    tests: Any


@cache
def _bandit() -> _Bandit:
    """Return bandit's parts, imported on first use and with what the import changes in the process put back."""
    formatwarning = warnings.formatwarning
    with quiet():
        from bandit.core.config import BanditConfig  # noqa: PLC0415 - an optional dependency of the local network
        from bandit.core.metrics import Metrics  # noqa: PLC0415 - see above
        from bandit.core.node_visitor import BanditNodeVisitor  # noqa: PLC0415 - see above
        from bandit.core.test_set import BanditTestSet  # noqa: PLC0415 - see above
        from bandit.core.tester import BanditTester  # noqa: PLC0415 - see above
    warnings.formatwarning = formatwarning
    logging.getLogger("bandit").disabled = True
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("bandit."):
            logging.getLogger(name).disabled = True  # its records would repeat text of the bundle

    class Tester(BanditTester):  # type: ignore[misc]  # bandit is untyped
        """Bandit's tester without its search for `# nosec`, which a bundle's author could hide behind."""

        def _get_nosecs_from_contexts(self, _context: Any, test_result: Any = None) -> None:
            del test_result

    tests = BanditTestSet(BanditConfig(), {"exclude": list(_EXCLUDED)})
    return _Bandit(BanditNodeVisitor, Tester, Metrics, tests)
