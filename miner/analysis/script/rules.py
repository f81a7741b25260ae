"""What the analysis of JavaScript and TypeScript objects to: one table, which docs/reference-miner.md shows."""

from typing import Final, NamedTuple

from miner.analysis.result import found
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Category, Finding, Severity


class Rule(NamedTuple):
    """An objection.

    Attributes:
        category, severity: of its findings (SPEC 2).
        text: their description.
    """

    category: Category
    severity: Severity
    text: str


_EXCESSIVE: Final[Category] = "excessive_capability"
_SECRETS: Final[Category] = "secrets_exposure"

RULES: Final[dict[str, Rule]] = {
    "eval-hidden": Rule(_EXCESSIVE, "critical", "Code is decoded or fetched and then executed."),
    "eval-given": Rule(_EXCESSIVE, "medium", "Code that is given at run time is executed."),
    "call-assembled": Rule(_EXCESSIVE, "medium", "What is called has a name that is put together at run time."),
    "eval-literal": Rule("other", "low", "A literal is executed as code."),
    "run-hidden": Rule(_EXCESSIVE, "critical", "A command that is decoded or fetched is run."),
    "remote-shell": Rule(_EXCESSIVE, "critical", "A shell is handed to a network connection."),
    "delete-broad": Rule(_EXCESSIVE, "critical", "A whole system or home folder is deleted."),
    "shell-given": Rule(_EXCESSIVE, "medium", "A command line that is put together at run time goes through a shell."),
    "shell-fixed": Rule(_EXCESSIVE, "low", "A fixed command line goes through a shell."),
    "start-file": Rule(_EXCESSIVE, "high", "The code writes a file that makes programs start by themselves."),
    "unserialize": Rule(_EXCESSIVE, "medium", "What is unserialized here can name code that runs."),
    "import-assembled": Rule("other", "low", "The name of an imported module is put together at run time."),
    "unverified": Rule(_EXCESSIVE, "medium", "Certificates are not verified."),
    "blob": Rule("other", "low", "A long encoded literal hides what it holds."),
    "secret-file": Rule(_SECRETS, "high", "A file that holds secrets is read."),
    "secret-sent": Rule(_SECRETS, "critical", "A secret of the environment or of a file is sent away."),
    "secret-somewhere": Rule(
        _SECRETS, "medium", "A secret of the environment is sent outside of headers, to a host that is not spelled out."
    ),
    "credential-openly": Rule(
        _SECRETS, "low", "A credential is sent outside of headers to the service it is named for."
    ),
}


def object_to(rule: str, source: SourceFile, line: int, target: str = "") -> Finding:
    """Return the finding of a rule; an empty target means the file."""
    category, severity, text = RULES[rule]
    return found(category, severity, source.place(line), text, target or source.path)
