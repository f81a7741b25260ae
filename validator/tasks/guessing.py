"""Which skill type a set of files is, and what says so."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.protocol.text import printable
from validator.tasks.described import (
    PYPROJECT,
    about,
    json_object,
    metadata_file,
    npm_names,
    npm_programs,
    python_names,
    python_requirements,
)

MANIFEST: Final = "manifest.json"
_MCP_PYTHON = frozenset({"mcp", "fastmcp"})
_MCP_NPM = frozenset({"@modelcontextprotocol/sdk", "@modelcontextprotocol/server", "fastmcp", "mcp-framework"})
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
_SHELL = (".sh", ".bash")
_DOCUMENTS = (".md", ".mdx", ".rst", ".txt", ".jsonl", ".html", ".csv", ".pdf")
_OTHER_CODE = (".go", ".rs", ".java", ".kt", ".rb", ".php", ".c", ".cc", ".cpp", ".cs", ".swift", ".pl", ".lua", ".ps1")
_PYTHON_SERVER = re.compile(
    rb"\bFastMCP\(|^[ \t]*(?:from|import)[ ]mcp\.server\b|^[ \t]*@\w{1,64}\.(?:list_tools|call_tool)\(", re.MULTILINE
)
_PYTHON_CLIENT = re.compile(rb"\bClientSession\b|\bmcp\.client\b|\bfrom fastmcp import Client\b")
_NPM_SERVER = re.compile(
    rb"\bnew (?:\w{1,64}\.)?(?:McpServer|FastMCP)\b|@modelcontextprotocol/(?:sdk/)?server[\"'/]|\.registerTool\("
    rb"|\b(?:ListTools|CallTool)RequestSchema\b"
)
_NPM_CLIENT = re.compile(rb"@modelcontextprotocol/(?:sdk/)?client[\"'/]")
_SHEBANG = re.compile(rb"#![^\n]{0,80}\b(?:sh|bash|dash|zsh|ksh)\b")
_BESIDE = frozenset({"test", "tests", "__tests__", "example", "examples", "docs", "node_modules"})
_OF_ANY_PACKAGE = re.compile(
    r"(?:readme|changelog|changes|history|news|licen[cs]e|copying|notice|authors|contributing|contributors|code_of_conduct"
    r"|security|maintainers|third[-_]?party[^/]*|requirements[^/]*)(?:[.-][^/]*)?",
    re.IGNORECASE,
)


class Guess(NamedTuple):
    """A skill type and, in one line, what says so."""

    skill_type: SkillType
    reason: str


def guess_skill_type(files: Mapping[str, bytes]) -> Guess | None:
    """Return what the files' manifest says they are, else what is in them; None if that is nothing."""
    declared = str(json_object(files, MANIFEST).get("skill_type"))
    if declared in ASSESSED_TYPES:
        return Guess(SkillType(declared), f"{MANIFEST} says so")
    return next(_guesses(files), None)


def _guesses(files: Mapping[str, bytes]) -> Iterator[Guess]:
    """Yield what the files could be, the surest first: what is written to say it, what is depended on, then code."""
    if "mcp.json" in files:
        yield Guess(SkillType.MCP_SERVER, "it holds mcp.json")
    if "composition.json" in files:
        yield Guess(SkillType.AGENT_COMPOSITION, "it holds composition.json")
    if reason := _serves_tools(files):
        yield Guess(SkillType.MCP_SERVER, reason)
    if "SKILL.md" in files:
        yield Guess(SkillType.DECLARATIVE, "it holds SKILL.md")
    yield from _programs(files)
    if "prompt.md" in files:
        yield Guess(SkillType.DECLARATIVE, "it holds prompt.md and no code that is known")
    if (documents := _documents(files)) and not any(name.endswith(_OTHER_CODE) for name in files):
        yield Guess(SkillType.RAG_KNOWLEDGE, f"it holds documents and no code: {_named(documents)}")


def _programs(files: Mapping[str, bytes]) -> Iterator[Guess]:
    if programs := npm_programs(files):
        yield Guess(SkillType.EXECUTABLE_SCRIPT, f"package.json has a program (`bin`): {_named(programs)}")
    if python := [name for name in files if name.endswith(".py")]:
        said = next((name for name in (metadata_file(files), PYPROJECT) if name in files), None)
        reason = f"it holds Python code: {_named(python)}"
        yield Guess(
            SkillType.EXECUTABLE_PYTHON, reason if said is None else f"{reason}, described by {printable(said)}"
        )
    if shell := [name for name, content in files.items() if name.endswith(_SHELL) or _SHEBANG.match(content)]:
        yield Guess(SkillType.EXECUTABLE_SCRIPT, f"it holds shell scripts: {_named(shell)}")
    if javascript := [name for name in files if name.endswith(_JAVASCRIPT)]:
        yield Guess(SkillType.EXECUTABLE_SCRIPT, f"it holds JavaScript or TypeScript: {_named(javascript)}")


def _serves_tools(files: Mapping[str, bytes]) -> str | None:
    """Return why this is an MCP server, None if it is not: its clients, and the SDKs themselves, depend on the same."""
    if about(files).get("name", "").lower() in _MCP_PYTHON | _MCP_NPM:
        return None
    if isinstance(json_object(files, MANIFEST).get("server"), dict):
        return f"{MANIFEST} is that of an MCP bundle"
    if isinstance(json_object(files, "package.json").get("mcpName"), str):
        return "package.json has a name for MCP's registry (`mcpName`)"
    python, npm = python_names(python_requirements(files)), npm_names(files, "dependencies")
    needs = sorted((python & _MCP_PYTHON) | (npm & _MCP_NPM))
    seen = _first_match(files, _PYTHON_SERVER, _NPM_SERVER)
    if needs and (seen or not _first_match(files, _PYTHON_CLIENT, _NPM_CLIENT)):
        return f"it depends on `{needs[0]}`" + (f", and {seen} serves tools" if seen else "")
    # Bundlers take an SDK into the code itself; loose files have nothing that could name it.
    bundled = npm_names(files, "devDependencies") & _MCP_NPM
    loose = not python and not npm and metadata_file(files) is None
    return f"{seen} serves tools" if seen and (bundled or loose) else None


def _first_match(files: Mapping[str, bytes], python: re.Pattern[bytes], npm: re.Pattern[bytes]) -> str | None:
    """Return the first file and line where its language's pattern matches; tests and examples serve what they like."""
    for name in sorted(files):
        if name.endswith((".py", *_JAVASCRIPT)) and _BESIDE.isdisjoint(name.split("/")):
            content = files[name]
            if match := (python if name.endswith(".py") else npm).search(content):
                line = content.count(b"\n", 0, match.end()) + 1
                return f"`{printable(name)}` line {line}"
    return None


def _documents(files: Mapping[str, bytes]) -> list[str]:
    """Return the documents; what every package has beside its content does not count."""
    return [
        name
        for name in files
        if name.endswith(_DOCUMENTS)
        and not _OF_ANY_PACKAGE.fullmatch(name.rpartition("/")[2])
        and not any(part.endswith((".dist-info", ".egg-info")) for part in name.split("/"))
    ]


def _named(names: list[str]) -> str:
    first = f"`{printable(min(names))}`"
    return first if len(names) == 1 else f"{first} and {len(names) - 1} more"
