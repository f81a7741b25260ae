"""Scanner that runs bandit as a library, over syntax trees in memory: no file is opened and nothing is printed."""

import ast
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, cast

from miner.scanners.scanner import Bundle, Report, found
from miner.scanners.source import KIB, SourceFile, rules_of
from validator.protocol.sssa import Category, Finding, Severity
from validator.protocol.text import quietly

# Bandit grades what could go wrong in a service; a skill is judged by what it does, so its grades count one less.
_SEVERITY: Final[dict[str, Severity]] = {"HIGH": "medium", "MEDIUM": "low", "LOW": "low"}
MAX_BYTES: Final = 192 * KIB  # of all Python files together
MAX_NODES: Final = 12_000  # syntax nodes of a file; bandit's time is not linear in them
_FILE_NAME: Final = "./module.py"  # bandit looks for packages next to the name it is given: it gets none to look beside


class Bandit:
    """The scanner: bandit's checks over the Python files, the smallest first."""

    def scan(self, bundle: Bundle) -> Report:
        """Return bandit's issues, `# nosec` comments notwithstanding."""
        findings: list[Finding] = []
        left = MAX_BYTES
        for source in sorted(bundle.sources.values(), key=lambda s: (len(s.content), s.path)):
            if source.language != "python" or source.unread:
                continue
            left -= len(source.content)
            tree = _parsed(source.content) if left >= 0 else None
            findings += _findings(source, tree) if tree is not None else ()
        return Report(findings=tuple(findings))


def _findings(source: SourceFile, tree: ast.Module) -> Iterator[Finding]:
    for issue in _issues_of()(source.content, tree):
        name, line, text = issue.test_id, max(issue.lineno or 1, 1), " ".join(issue.text.split())
        category = next(
            (one for one, names in rules_of("bandit")["categories"].items() if name in names.split()), "other"
        )
        severity = _SEVERITY.get(issue.severity, "low")
        yield found(cast("Category", category), severity, source.place(line), f"Bandit {name}: {text}", source.path)


def _parsed(content: bytes) -> ast.Module | None:
    """Return the tree of a source; None for what Python cannot parse, or what is nested beyond what it bears."""
    try:
        with quietly():
            tree = ast.parse(content.decode())
    except (SyntaxError, ValueError, LookupError, TypeError, OverflowError, RecursionError, MemoryError):
        return None
    return tree if sum(1 for _ in ast.walk(tree)) <= MAX_NODES else None


@cache
def _issues_of() -> Callable[[bytes, ast.Module], list[Any]]:
    """Return what runs bandit's checks: imported on first use, what the import changes in the process put back."""
    formatwarning = warnings.formatwarning
    with quietly():
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

    tests = BanditTestSet(BanditConfig(), {"exclude": rules_of("bandit")["left_out"].split()})

    def issues(content: bytes, tree: ast.Module) -> list[Any]:
        metrics = Metrics()
        visitor = BanditNodeVisitor(_FILE_NAME, io.BytesIO(content), None, tests, False, {}, metrics)
        visitor.tester = Tester(tests, False, {}, metrics)
        try:
            visitor.generic_visit(tree)
        except RecursionError:
            return []  # the own rules walk without recursion and have read the file
        return sorted(visitor.tester.results, key=lambda issue: (issue.lineno or 0, issue.test_id, issue.text))

    return issues
