"""Layout of a skill, from files in memory: type, manifest.json, the file that takes a marker. No I/O."""

import configparser
import email.parser
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from sssa.protocol import limits
from sssa.protocol.bundles import json_object
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.text import printable

PACKAGE: Final = "package.json"
PYPROJECT: Final = "pyproject.toml"
_MOST = 1024 * 1024  # bytes of a document that are read
_ENTRY = re.compile(r"\s*([A-Za-z_][\w.]*:[A-Za-z_][\w.]*)\s*(?:\[.*)?", re.ASCII)
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", re.ASCII)
_METADATA = re.compile(r"PKG-INFO|[^/]+\.dist-info/METADATA")
_EXTRA = re.compile(r";.*\bextra\b", re.DOTALL)
_TEXT = 500  # code points


def project_table(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the table `project` of pyproject.toml, an empty one where there is none."""
    try:
        table = tomllib.loads(files.get(PYPROJECT, b"")[:_MOST].decode()).get("project")
    except (ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def about(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return `name`, `version` and `description`, those that the package says; a distribution's metadata come first."""
    package, project = json_object(files, PACKAGE), project_table(files)
    values: dict[str, str] = {}
    for name, header in (("name", "Name"), ("version", "Version"), ("description", "Summary")):
        candidates = (*header_values(files, header)[:1], project.get(name), package.get(name))
        texts = (printable(" ".join(value.split()), _TEXT) for value in candidates if isinstance(value, str))
        if text := next((text for text in texts if text), None):
            values[name] = text
    return values


def header_values(files: Mapping[str, bytes], field: str) -> list[str]:
    """Return the values of one header of a distribution's METADATA or PKG-INFO; what is no UTF-8 is replaced."""
    name = metadata_file(files)
    if name is None:
        return []
    text = files[name][:_MOST].decode(errors="replace")
    return [str(value) for value in email.parser.HeaderParser().parsestr(text, headersonly=True).get_all(field, [])]


def metadata_file(files: Mapping[str, bytes]) -> str | None:
    """Return the file with the distribution's metadata, None if there is none."""
    return min((name for name in files if _METADATA.fullmatch(name)), default=None)


def python_requirements(files: Mapping[str, bytes]) -> list[str]:
    """Return what a distribution requires, as it says it, extras left out; of a project, where no metadata is built."""
    if metadata_file(files) is not None:
        return [value for value in header_values(files, "Requires-Dist") if not _EXTRA.search(value)]
    listed = project_table(files).get("dependencies")
    return [value for value in listed if isinstance(value, str)] if isinstance(listed, list) else []


def python_names(requirements: Iterable[str]) -> frozenset[str]:
    """Return the normalised names of the distributions that are required."""
    return frozenset(
        re.sub(r"[-_.]+", "-", match[1]).lower() for value in requirements if (match := _NAME.match(value))
    )


def npm_names(files: Mapping[str, bytes], table: str) -> frozenset[str]:
    """Return the packages that `dependencies` or another table of package.json names."""
    listed = json_object(files, PACKAGE).get(table)
    return frozenset(listed) if isinstance(listed, dict) else frozenset()


def npm_programs(files: Mapping[str, bytes]) -> list[str]:
    """Return the files that package.json gives as programs (`bin`) and that exist, its own name's first."""
    package = json_object(files, PACKAGE)
    listed, own = package.get("bin"), str(package.get("name")).rpartition("/")[2]
    if isinstance(listed, str):
        listed = {own: listed}
    if not isinstance(listed, dict):
        return []
    named = sorted(listed.items(), key=lambda program: (program[0] != own, program[0]))
    return [path for _, value in named if (path := _file(files, value))]


def npm_main(files: Mapping[str, bytes]) -> str | None:
    """Return the file that package.json gives as its main module, None if it is not there."""
    package = json_object(files, PACKAGE)
    return next((path for field in ("main", "module") if (path := _file(files, package.get(field)))), None)


def console_scripts(files: Mapping[str, bytes]) -> list[str]:
    """Return `module:function` of the console scripts, the distribution's own name's first."""
    scripts = _listed_scripts(files)
    own = about(files).get("name", "").lower()
    named = sorted(scripts.items(), key=lambda script: (script[0].lower() != own, script[0]))
    return [match[1] for _, value in named if (match := _ENTRY.fullmatch(value))]


def _listed_scripts(files: Mapping[str, bytes]) -> dict[str, str]:
    name = min((name for name in files if name.endswith(".dist-info/entry_points.txt")), default=None)
    if name is None:
        table = project_table(files).get("scripts")
        return {key: value for key, value in table.items() if isinstance(value, str)} if isinstance(table, dict) else {}
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    try:
        parser.read_string(files[name][:_MOST].decode())
    except (configparser.Error, UnicodeDecodeError):
        return {}
    return dict(parser["console_scripts"]) if "console_scripts" in parser else {}


def _file(files: Mapping[str, bytes], path: object) -> str | None:
    """Return a path that package.json names if a file exists: `./` and a missing ending are usual."""
    if not isinstance(path, str):
        return None
    plain = path.removeprefix("./")
    return next((name for name in (plain, f"{plain}.js", f"{plain}/index.js") if name in files), None)


MANIFEST: Final = "manifest.json"
REQUIREMENTS: Final = "requirements.txt"
_PROMPTS = ("SKILL.md", "prompt.md")
_JAVASCRIPT = (".js", ".mjs", ".cjs")
_MAIN = re.compile(rb"^(?:async )?def main\(", re.MULTILINE)
_MCP_PYTHON = frozenset({"mcp", "fastmcp"})
_MCP_NPM = frozenset({"@modelcontextprotocol/sdk", "@modelcontextprotocol/server", "fastmcp", "mcp-framework"})
_CODE_OF_NODE = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
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
_SUPPORT_FOLDERS = frozenset({"test", "tests", "__tests__", "example", "examples", "docs", "node_modules"})
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
        yield Guess(SkillType.RAG_KNOWLEDGE, f"it holds documents and no code: {_shown(documents)}")


def _programs(files: Mapping[str, bytes]) -> Iterator[Guess]:
    if programs := npm_programs(files):
        yield Guess(SkillType.EXECUTABLE_SCRIPT, f"package.json has a program (`bin`): {_shown(programs)}")
    if python := [name for name in files if name.endswith(".py")]:
        source = next((name for name in (metadata_file(files), PYPROJECT) if name in files), None)
        reason = f"it holds Python code: {_shown(python)}"
        yield Guess(
            SkillType.EXECUTABLE_PYTHON, reason if source is None else f"{reason}, described by {printable(source)}"
        )
    if shell := [name for name, content in files.items() if name.endswith(_SHELL) or _SHEBANG.match(content)]:
        yield Guess(SkillType.EXECUTABLE_SCRIPT, f"it holds shell scripts: {_shown(shell)}")
    if javascript := [name for name in files if name.endswith(_CODE_OF_NODE)]:
        yield Guess(SkillType.EXECUTABLE_SCRIPT, f"it holds JavaScript or TypeScript: {_shown(javascript)}")


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
        if name.endswith((".py", *_CODE_OF_NODE)) and _SUPPORT_FOLDERS.isdisjoint(name.split("/")):
            content = files[name]
            if match := (python if name.endswith(".py") else npm).search(content):
                line = content.count(b"\n", 0, match.end()) + 1
                return f"`{printable(name)}` line {line}"
    return None


def _documents(files: Mapping[str, bytes]) -> list[str]:
    """Return the documents; what every package has next to its content does not count."""
    return [
        name
        for name in files
        if name.endswith(_DOCUMENTS)
        and not _OF_ANY_PACKAGE.fullmatch(name.rpartition("/")[2])
        and not any(part.endswith((".dist-info", ".egg-info")) for part in name.split("/"))
    ]


def _shown(names: list[str]) -> str:
    first = f"`{printable(min(names))}`"
    return first if len(names) == 1 else f"{first} and {len(names) - 1} more"


def completed(files: Mapping[str, bytes], skill_type: SkillType, name: str) -> dict[str, Any]:
    """Return the manifest for files that have none; what a package says of itself is taken over."""
    described = about(files)
    return {
        "name": described.get("name") or name,
        "version": described.get("version") or "0",
        "description": described.get("description") or "",
        "skill_type": skill_type.value,
        "entry_point": _entry_point(files, skill_type),
        "capabilities": [],
    }


def requirements(files: Mapping[str, bytes]) -> bytes | None:
    """Return the requirements that a distribution's metadata names, extras left out; None where there are none."""
    lines = [printable(" ".join(value.split()), limits.MAX_STRING) for value in python_requirements(files)]
    return "".join(f"{line}\n" for line in lines).encode() or None


def marker_file(files: Mapping[str, bytes], skill_type: SkillType) -> str | None:
    """Return the file that can take a canary marker, None for runtime types and where no text would take it."""
    if skill_type is SkillType.DECLARATIVE:
        for name in _PROMPTS:
            if name in files:
                return name
    elif skill_type is not SkillType.RAG_KNOWLEDGE:
        return None
    texts = [name for name in files if name.endswith((".md", ".txt")) and "#" not in name and "::" not in name]
    return min(texts, default=None)


def _entry_point(files: Mapping[str, bytes], skill_type: SkillType) -> str | None:
    if skill_type is SkillType.MCP_SERVER:
        return _server(files)
    if skill_type is SkillType.EXECUTABLE_SCRIPT:
        return _script(files)
    if skill_type is SkillType.EXECUTABLE_PYTHON:
        return _python_entry_point(files)
    if skill_type is SkillType.AGENT_COMPOSITION:
        return "composition.json" if "composition.json" in files else None
    if skill_type is SkillType.DECLARATIVE:
        return next((name for name in _PROMPTS if name in files), None)
    return None


def _server(files: Mapping[str, bytes]) -> str | None:
    """Return the file that starts the server: the usual name, a program of package.json, a console script's module."""
    if "server.py" in files:
        return "server.py"
    if programs := npm_programs(files):
        return programs[0]
    for entry in console_scripts(files):
        module = entry.partition(":")[0].replace(".", "/")
        names = (f"{module}/__main__.py", f"{module}.py", f"{module}/__init__.py")
        if name := next((name for name in names if name in files), None):
            return name
    return npm_main(files) or _first(files, ".py") or _first(files, *_JAVASCRIPT)


def _script(files: Mapping[str, bytes]) -> str | None:
    """Return the script: the usual name, a program of package.json, the first shell script, the main module."""
    if "main.sh" in files:
        return "main.sh"
    programs = npm_programs(files)
    return programs[0] if programs else _first(files, ".sh") or npm_main(files) or _first(files, *_JAVASCRIPT)


def _first(files: Mapping[str, bytes], *endings: str) -> str | None:
    """Return the first of the files with one of these endings, the least deep first; None if there is none."""
    names = (name for name in files if name.endswith(endings))
    return min(names, key=lambda name: (name.count("/"), name), default=None)


def _python_entry_point(files: Mapping[str, bytes]) -> str | None:
    """Return `module:function`: a distribution's own or first console script, else a `main` of a top file, or None."""
    for entry in console_scripts(files):
        module = entry.partition(":")[0].replace(".", "/")
        if f"{module}.py" in files or f"{module}/__init__.py" in files:
            return entry
    top = sorted(name for name in files if name.endswith(".py") and "/" not in name)
    for name in sorted(top, key=lambda name: name != "main.py"):
        if _MAIN.search(files[name]):
            return f"{name.removesuffix('.py')}:main"
    return None
