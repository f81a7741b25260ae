"""Helpers for tests of JavaScript. Harmful sources are assembled here, so that none exists ready to run."""

from miner.analysis import Analysis, analyse
from sssa.protocol.skill_types import SkillType

SERVER = SkillType.MCP_SERVER
_PARTS = {
    "<HOST>": ("collector", ".invalid"),
    "<SHELL>": ("/bin", "/sh"),
    "<ENV>": ("process", ".env"),
    "<KEY>": ("id_", "rsa"),
    "<EVAL>": ("ev", "al"),
    "<CURL>": ("cu", "rl"),
}


def assembled(source: str) -> str:
    """Return a source whose `<HOST>`, `<ENV>` and the like stand for what makes it harmful."""
    for name, parts in _PARTS.items():
        source = source.replace(name, "".join(parts))
    return source


def of_script(source: str, name: str = "index.js") -> Analysis:
    return analyse({name: assembled(source).encode()}, SERVER)


def found_in(analysis: Analysis, file: str = "index.js") -> set[tuple[str, str, int]]:
    """Return (severity, category, line) of the findings in a file."""
    return {
        (f.severity, f.category, int(f.evidence_ref.rpartition("-L")[2]))
        for f in analysis.findings
        if f.evidence_ref.startswith(f"{file}#")
    }
