"""What settings grant: tools without limit, approval switched off, powers of a container, servers that may change.

Settings come in many forms (JSON, YAML, TOML, front matter), of programs that nobody has a list of. So lines are read:
a key, the keys above it, and its value (`setting_lines.py`), which rules look at (`grant_rules.py`).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from miner.analysis.composition import FILE_NAME as COMPOSITION
from miner.analysis.grant_rules import OF_CHILDREN, RULES
from miner.analysis.result import Report, found
from miner.analysis.setting_lines import Setting, settings_of
from miner.analysis.source import SourceFile
from validator.protocol.findings import SEVERITIES
from validator.protocol.sssa import Category, Finding, Severity

_SUFFIXES: Final = frozenset(
    {"json", "jsonc", "json5", "yaml", "yml", "toml", "ini", "cfg", "conf", "properties", "md", "mdc", "dockerfile"}
)
_NAMES: Final = frozenset({"dockerfile", "containerfile", ".npmrc", "procfile"})
_MOST: Final = 20  # findings of one file
_BLOCK: Final = 16  # lines that are told together
_CHANGING: Final = "A server of tools is fetched at every start, in whatever version there is then"
_SCHEMA: Final = re.compile(r"\.(?:enum|one_?of|any_?of|all_?of)$|\.properties\.")
_SERVER: Final = re.compile(r"(?:^|\.)(?:mcp_?servers?|servers?)\.[^.]{1,80}\.(?:command|args|url|image)$")
_RUNNERS: Final = frozenset({"npx", "bunx", "uvx", "pipx", "pnpm", "yarn", "docker", "podman", "deno", "bun", "npm"})
_PINNED: Final = re.compile(
    r"^(?:@[\w.-]{1,80}/)?[\w./:-]{1,200}(?:@\d+\.\d|==\d|@sha256:[0-9a-f]{64})|^git\+\S{1,300}@[0-9a-f]{40}\b"
)
_PACKAGE: Final = re.compile(
    r"^(?:@?[A-Za-z0-9][\w.-]{0,100}(?:/[\w.-]{1,100}){0,4}(?::[\w.-]{1,60})?(?:@[\w.-]{1,40})?(?:==.{1,20})?"
    r"|git\+\S{1,300}|https?://\S{1,300})$"
)
_WORDS_OF_RUNNERS: Final = frozenset(
    {
        "run",
        "dlx",
        "exec",
        "x",
        "tool",
        "install",
        "--from",
        "-y",
        "--yes",
        "-i",
        "--rm",
        "--package",
        "-p",
        "start",
        "node",
        "create",
    }
)


def read_grants(sources: Iterable[SourceFile]) -> Report:
    """Return what the settings among the files grant beyond what a skill needs."""
    findings: list[Finding] = []
    for source in sources:
        if source.suffix in _SUFFIXES or source.name.lower() in _NAMES or source.name.startswith("."):
            findings += _told(source, sorted(_grants(source)))
    return Report(findings=tuple(findings))


class _Grant(NamedTuple):
    """What the lines from `first` to `last` grant."""

    first: int
    last: int
    what: str
    severity: Severity


def _told(source: SourceFile, grants: list[_Grant]) -> Iterator[Finding]:
    """Yield a finding for each block of lines that grants one thing; what lies within another is told with it."""
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
        yield found(category, block.severity, place, f"{block.what}.", source.path)


def _grants(source: SourceFile) -> Iterator[_Grant]:
    servers: dict[str, list[Setting]] = {}
    for line in settings_of(source):
        if _SCHEMA.search(line.keys):
            continue
        value = line.value.lower()
        rules = (*RULES, *OF_CHILDREN) if source.name == COMPOSITION else RULES
        rule = next((rule for rule in rules if rule.keys.search(line.keys) and rule.value.search(value)), None)
        if rule is not None:
            yield _Grant(line.number, line.number, rule.what, rule.severity)
        if _SERVER.search(line.keys):
            servers.setdefault(line.keys.rpartition(".")[0], []).append(line)
    for lines in servers.values():
        command = next((line for line in lines if line.keys.endswith(".command")), None)
        if command is not None and _may_change(command.value, [line.value for line in lines if line is not command]):
            last = max(line.number for line in lines)
            yield _Grant(command.number, max(command.number, min(last, command.number + _BLOCK)), _CHANGING, "medium")


def _may_change(command: str, arguments: list[str]) -> bool:
    """Whether the command fetches a package or an image that no version or digest names."""
    words = [word for text in (command, *arguments) for word in text.split()]
    if not words or words[0].rpartition("/")[2].lower() not in _RUNNERS:
        return False
    image = words[0].rpartition("/")[2] in ("docker", "podman")
    for word in words[1:]:
        if word in _WORDS_OF_RUNNERS or word.startswith("-") or ("=" in word and not _PINNED.match(word)):
            continue
        if _PACKAGE.match(word):
            return not (re.search(r"@sha256:|:\d+\.\d", word) if image else _PINNED.match(word))
    return False
