"""Scanner of settings: grants without limit, approval switched off, powers of a container, servers that may change.

Settings come in many forms (JSON, YAML, TOML, front matter), of programs that nobody has a list of. So lines are read:
a key, the keys above it, and its value, which the rules of `rules/settings.toml` look at. Commands that settings run
(hooks of an agent, scripts of a package, servers of tools) become snippets for the scanner of code.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from msgspec import Struct

from miner.scanners.prose import READERS, audience_of
from miner.scanners.scanner import Bundle, Part, Report, Target, new_finding
from miner.scanners.source import SourceFile, is_document, line_of, read_object, rules_as
from sssa.protocol.findings import SEVERITIES
from sssa.protocol.sssa import Category, Finding, Severity

COMPOSITION: Final = "composition.json"
_SUFFIXES: Final = frozenset(
    {"json", "jsonc", "json5", "yaml", "yml", "toml", "ini", "cfg", "conf", "properties", "md", "mdc", "dockerfile"}
)
_NAMES: Final = frozenset({"dockerfile", "containerfile", ".npmrc", "procfile", "pipfile"})
_MOST: Final = 20  # findings of one file
_BLOCK: Final = 16  # lines that are told together
_CHANGING: Final = "A server of tools is fetched at every start, in whatever version there is then"
_SCHEMA: Final = re.compile(r"\.(?:enum|one_?of|any_?of|all_?of)$|\.properties\.")
_SERVER: Final = re.compile(r"(?:^|\.)(?:mcp_?servers?|servers?)\.[^.]{1,80}\.(?:command|args|url|image)$")
_PINNED: Final = re.compile(
    r"^(?:@[\w.-]{1,80}/)?[\w./:-]{1,200}(?:@\d+\.\d|==\d|@sha256:[0-9a-f]{64})|^git\+\S{1,300}@[0-9a-f]{40}\b"
)
_PACKAGE: Final = re.compile(
    r"^(?:@?[A-Za-z0-9][\w.-]{0,100}(?:/[\w.-]{1,100}){0,4}(?::[\w.-]{1,60})?(?:@[\w.-]{1,40})?(?:==.{1,20})?"
    r"|git\+\S{1,300}|https?://\S{1,300})$"
)
_FRONT_MATTER: Final = frozenset({"md", "mdc"})
_MOST_LINES: Final = 4_000  # of a file that are looked at: lock files and data grant nothing
_LINE: Final = 1_000  # characters of a line
_ABOVE: Final = 12  # levels of keys
_ENTRY: Final = re.compile(
    r"^(\s{0,80})(?:- )?[\"']?([A-Za-z_$@.][\w$@./:-]{0,80})[\"']?\s{0,4}[:=]\s{0,4}(.*?)\s{0,4},?\s{0,4}$"
)
_QUOTED: Final = re.compile(r"^\s{0,80}(?:- )?(?:\"[^\"]*\"|'[^']*')\s{0,4},?\s{0,4}$")
_COMMENT: Final = re.compile(r"\s(?:#|//)\s.{0,400}$|/\*.{0,400}\*/")
_ITEM: Final = re.compile(r"^(\s{0,80})(?:- )?(?:[\"'](.*?)[\"']|([^\"'{}\[\]]+?))\s{0,4},?\s{0,4}$")


class _Rule(Struct, frozen=True):
    """Rule for a setting: its patterns match the keys above it, joined by dots, and its value, in lower case."""

    what: str
    severity: Severity
    keys: re.Pattern[str]
    value: re.Pattern[str]
    children: bool = False
    files: re.Pattern[str] = re.compile("")


class _Runners(Struct, frozen=True):
    programs: str
    words: str


class _Rules(Struct, frozen=True):
    rule: tuple[_Rule, ...]
    runners: _Runners


class Settings:
    """The scanner of settings."""

    def scan(self, bundle: Bundle) -> Report:
        """Return what the settings among the files grant beyond what a skill needs."""
        findings: list[Finding] = []
        for source in bundle.sources.values():
            if source.suffix in _SUFFIXES or source.name.lower() in _NAMES or source.name.startswith("."):
                findings += _findings_of(source, sorted(_grants(source)))
        return Report(findings=tuple(findings))


class Setting(NamedTuple):
    """One value: on which line, below which keys (joined by dots, lower case, the nearest last)."""

    number: int
    keys: str
    value: str


def settings_of(source: SourceFile) -> Iterator[Setting]:
    """Yield the values of a file of settings with the keys above them, which is told by how far lines are indented."""
    document = read_object(source) if source.suffix == "json" else None
    if document is not None:
        yield from _of_json(source, document, "", 1, 0)
        return
    above: list[tuple[int, str]] = []
    for number, line in enumerate(_lines(source), start=1):
        text = line[:_LINE].rstrip()
        text = _COMMENT.sub("", text).rstrip()
        bare = text.strip(" \t,")
        if not bare or bare.startswith(("#", "//", ";")) or len(line) > _LINE:
            continue
        if bare.startswith("[") and bare.endswith("]") and source.suffix in ("toml", "ini", "cfg", "conf"):
            above = [(-1, bare.strip("[]").lower())]
            continue
        indent = len(text) - len(text.lstrip())
        entry = None if _QUOTED.match(text) else _ENTRY.match(text.replace("\t", "    "))
        above = [one for one in above if one[0] < indent][-_ABOVE:]
        if entry is None:
            item = _ITEM.match(text.replace("\t", "    "))
            if item is not None and above:
                yield Setting(number, ".".join(key for _, key in above), (item[2] or item[3] or "").strip())
            continue
        key, value = entry[2].lower().replace("-", "_"), entry[3].strip()
        keys = ".".join([*(one for _, one in above), key])
        above.append((indent, key))
        yield from _parts(number, keys, value)


def _of_json(source: SourceFile, value: Any, keys: str, line: int, depth: int) -> Iterator[Setting]:
    """Yield the values of a JSON document in their order, each on the first line behind `line` that holds it."""
    if isinstance(value, dict) and depth < _ABOVE:
        for key, inner in value.items():
            line = line_of(source, key, line)
            yield from _of_json(source, inner, f"{keys}.{key.lower().replace('-', '_')}".lstrip("."), line, depth + 1)
    elif isinstance(value, list):
        for inner in value[:100]:
            line = line_of(source, inner, line) if isinstance(inner, str) else line
            yield from _of_json(source, inner, keys, line, depth)
    elif not isinstance(value, dict):
        text = json.dumps(value) if not isinstance(value, str) else value
        yield Setting(line, keys, text)
        if isinstance(value, str) and " " in value:
            yield from (Setting(line, keys, word) for word in value.split()[:40])


def _parts(number: int, keys: str, value: str) -> Iterator[Setting]:
    """Yield a value, or those of a list or an object that is in one line."""
    if value.startswith(("[", "{")):
        for part in value.strip("[]{} ").split(",")[:100]:
            key, colon, inner = part.partition(":")
            if value.startswith("{") and colon:
                yield Setting(number, f"{keys}.{key.strip(chr(34) + chr(39) + ' ').lower()}", inner.strip("\"' []{}"))
            else:
                yield Setting(number, keys, part.strip("\"' "))
        return
    yield Setting(number, keys, value.strip("\"'"))
    if " " in value and not value.startswith(('"', "'")):
        for word in value.split()[:40]:
            yield Setting(number, keys, word.strip("\"',"))


def _lines(source: SourceFile) -> list[str]:
    if source.suffix not in _FRONT_MATTER:
        return source.lines[:_MOST_LINES]
    if not source.text.startswith("---"):
        return []
    end = next((i for i, line in enumerate(source.lines[1:200], start=1) if line.strip() == "---"), 0)
    return source.lines[:end]


class _Grant(NamedTuple):
    """Permission granted by the lines from `first` to `last`."""

    first: int
    last: int
    what: str
    severity: Severity


def _findings_of(source: SourceFile, grants: list[_Grant]) -> Iterator[Finding]:
    """Yield a finding for each block of lines that grants one thing; what is within another is told with it."""
    blocks: list[_Grant] = []
    for grant in grants:
        within = next((i for i, b in enumerate(blocks) if b.first <= grant.first <= b.last), None)
        near = next((i for i, b in enumerate(blocks) if b.what == grant.what and grant.last - b.first < _BLOCK), None)
        index = near if within is None else within
        if index is None:
            blocks.append(grant)
            continue
        block = blocks[index]
        worst = min(block.severity, grant.severity, key=SEVERITIES.index)
        last = max(block.last, grant.last) if within is None else block.last
        blocks[index] = block._replace(last=last, severity=worst)
    category: Category = "transitive_risk" if source.name == COMPOSITION else "excessive_capability"
    for block in blocks[:_MOST]:
        place = source.place(block.first, block.last)
        yield new_finding(category, block.severity, place, f"{block.what}.", source.path)


def _grants(source: SourceFile) -> Iterator[_Grant]:
    servers: dict[str, list[Setting]] = {}
    for line in settings_of(source):
        if _SCHEMA.search(line.keys):
            continue
        value = line.value.lower()
        rules = [one for one in rules_as("settings", _Rules).rule if source.name == COMPOSITION or not one.children]
        rules = [one for one in rules if one.files.search(source.name.lower())]
        met = [rule for rule in rules if rule.keys.search(line.keys) and rule.value.search(value)]
        if met:
            rule = min(met, key=lambda rule: SEVERITIES.index(rule.severity))
            yield _Grant(line.number, line.number, rule.what, rule.severity)
        if _SERVER.search(line.keys):
            servers.setdefault(line.keys.rpartition(".")[0], []).append(line)
    for lines in servers.values():
        command = next((line for line in lines if line.keys.endswith(".command")), None)
        if command is not None and _may_change(command.value, [line.value for line in lines if line is not command]):
            last = max(line.number for line in lines)
            yield _Grant(command.number, max(command.number, min(last, command.number + _BLOCK)), _CHANGING, "high")


def _may_change(command: str, arguments: list[str]) -> bool:
    """Return whether the command fetches a package or an image without a fixed version or digest."""
    words = [word for text in (command, *arguments) for word in text.split()]
    runners = rules_as("settings", _Rules).runners
    if not words or words[0].rpartition("/")[2].lower() not in runners.programs.split():
        return False
    image = words[0].rpartition("/")[2] in ("docker", "podman")
    for word in words[1:]:
        if word in runners.words.split() or word.startswith("-") or ("=" in word and not _PINNED.match(word)):
            continue
        if _PACKAGE.match(word):
            return not (re.search(r"@sha256:|:\d+\.\d", word) if image else _PINNED.match(word))
    return False


# -- code within other files -------------------------------------------------------------------------------------------

_INSTALLED: Final = frozenset({"preinstall", "install", "postinstall", "prepare"})
_FENCE: Final = re.compile(r"^\s{0,12}(`{3,}|~{3,})\s{0,3}([\w+-]{0,20})")
_BLOCKS: Final = {
    **dict.fromkeys(
        ("bash", "sh", "shell", "zsh", "console", "shell-session", "powershell", "pwsh", "ps1", "bat", "cmd", ""),
        "bash",
    ),
    **dict.fromkeys(("python", "py", "python3"), "python"),
    **dict.fromkeys(("js", "javascript", "mjs", "node", "ts", "typescript"), "javascript"),
}
_HOOK: Final = re.compile(
    r"\"(?:command|statusLine|apiKeyHelper|postCreateCommand|onCreateCommand)\"\s*:\s*\"((?:[^\"\\]|\\.){1,2000})\""
)
_MAX_SNIPPETS: Final = 400


def snippets_of(sources: Iterable[SourceFile], part_of: Callable[[str], Part]) -> Iterator[Target]:
    """Yield the code that other files hold: scripts of package.json, hooks, fenced blocks of documents."""
    left = _MAX_SNIPPETS
    for source in sources:
        trusted = is_document(source) and audience_of(source, part_of(source.path).skill_type) is READERS
        some: Iterator[Target] = iter(())
        if source.name == "package.json":
            some = _scripts(source)
        elif source.suffix in ("json", "jsonc"):
            some = _hooks(source)
        elif source.suffix in ("md", "mdx", "mdc", "markdown"):
            some = _blocks(source, trusted=trusted)
        for snippet in some:
            left -= 1
            if left >= 0:
                yield snippet


def _scripts(source: SourceFile) -> Iterator[Target]:
    document = read_object(source) or {}
    scripts, start = document.get("scripts"), line_of(source, "scripts")
    for name, command in list(scripts.items())[:200] if isinstance(scripts, dict) else ():
        if isinstance(command, str):
            content, offset = command[:4_096].encode("utf-8", "replace"), line_of(source, name, start) - 1
            yield Target(source, "bash", content, offset, runs=name in _INSTALLED)


def _hooks(source: SourceFile) -> Iterator[Target]:
    for match in _HOOK.finditer(source.text):
        content = match[1].replace('\\"', '"').replace("\\n", "; ").encode()
        yield Target(source, "bash", content, source.line_at(match.start()) - 1, runs=False)


def _blocks(source: SourceFile, *, trusted: bool) -> Iterator[Target]:
    """Yield the fenced blocks of a document, prompts of a terminal's session left out."""
    fence, language, first, lines = "", "", 0, list[str]()
    for number, line in enumerate(source.lines, start=1):
        match = _FENCE.match(line)
        if not fence and match:
            fence, language, first, lines = match[1], _BLOCKS.get(match[2].lower(), ""), number, []
        elif fence and match and line.strip().startswith(fence) and line.strip("`~ \t\r") == "":
            if language and lines:
                yield Target(source, language, "\n".join(lines).encode(), first, trusted, runs=False)
            fence = ""
        elif fence:
            lines.append(re.sub(r"^\s*[$>]\s", "", line) if language == "bash" else line)
