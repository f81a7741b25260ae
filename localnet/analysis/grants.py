"""What settings grant: tools without limit, approval switched off, powers of a container, servers that may change.

Settings come in many forms (JSON, YAML, TOML, front matter), of programs that nobody has a list of. So lines are read:
a key, the keys above it, and its value. A value may stand on lines of its own below its key.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from localnet.analysis.composition import FILE_NAME as COMPOSITION
from localnet.analysis.result import Report, found
from localnet.analysis.source import SourceFile
from validator.protocol.risk import SEVERITIES
from validator.protocol.sssa import Category, Finding, Severity

_SUFFIXES: Final = frozenset(
    {"json", "jsonc", "json5", "yaml", "yml", "toml", "ini", "cfg", "conf", "properties", "md", "mdc", "dockerfile"}
)
_NAMES: Final = frozenset({"dockerfile", "containerfile", ".npmrc", "procfile"})
_FRONT_MATTER: Final = frozenset({"md", "mdc"})
_MOST_LINES: Final = 4_000  # of a file that are looked at: lock files and data grant nothing
_LINE: Final = 1_000  # characters of a line
_ABOVE: Final = 12  # levels of keys
_MOST: Final = 20  # findings of one file
_BLOCK: Final = 16  # lines that are told together
_CHANGING: Final = "A server of tools is fetched at every start, in whatever version there is then"

_ENTRY: Final = re.compile(
    r"^(\s{0,80})(?:- )?[\"']?([A-Za-z_$@.][\w$@./:-]{0,80})[\"']?\s{0,4}[:=]\s{0,4}(.*?)\s{0,4},?\s{0,4}$"
)
_QUOTED: Final = re.compile(r"^\s{0,80}(?:- )?(?:\"[^\"]*\"|'[^']*')\s{0,4},?\s{0,4}$")
_COMMENT: Final = re.compile(r"\s(?:#|//)\s.{0,400}$|/\*.{0,400}\*/")
_SCHEMA: Final = re.compile(r"\.(?:enum|one_?of|any_?of|all_?of)$|\.properties\.")
_ITEM: Final = re.compile(r"^(\s{0,80})(?:- )?(?:[\"'](.*?)[\"']|([^\"'{}\[\]]+?))\s{0,4},?\s{0,4}$")


class _Line(NamedTuple):
    """One value: on which line, below which keys (joined by dots, lower case, the nearest last)."""

    number: int
    keys: str
    value: str


class _Rule(NamedTuple):
    what: str
    severity: Severity
    keys: re.Pattern[str]
    value: re.Pattern[str]


def _rule(what: str, severity: Severity, keys: str, value: str) -> _Rule:
    return _Rule(what, severity, re.compile(keys), re.compile(value))


_ALL: Final = r"^(?:\*+|/\*\*?|\*\*?/\*?|\*:\*|all|any|everything|full|unrestricted|0\.0\.0\.0/0|::/0|<all_urls>|https?://\*/?\*?)$"
_ON: Final = r"^(?:true|yes|on|1|always|all|any|auto|enabled|\*)$"
_OFF: Final = r"^(?:false|no|off|0|never|none|null|disabled|skip)$"
_RULES: Final = (
    _rule(
        "Any tool or command may be used",
        "medium",
        r"(?:tool|command|allow|permission|grant|approv|trust)[\w-]*(?:\.\w+)?$",
        rf"{_ALL}|\b(?:bash|shell|sh|exec\w*|terminal|run_?\w*|write|edit|webfetch|computer)\(\s?\*?(?::\*)?\s?\)"
        rf"|^\w+\(\*[:*]*\)|^(?:bash|shell|terminal)$",
    ),
    _rule(
        "Actions need nobody's approval",
        "high",
        r"(?:auto[-_]?(?:approve|accept|run|confirm|exec|apply|allow|continue)\w*|always[-_]?(?:allow|approve)\w*"
        r"|yolo\w*"
        r"|(?:dangerously)?[-_]?(?:skip|bypass|disable|no)[-_]?(?:permission|approval|confirm|prompt|safety|sandbox"
        r"|check)\w*"
        r"|auto_?approve\.\w+)$",
        r"^(?!false|no|off|0|never|none|null|\[\]|\{\}|\"\"|$).+",
    ),
    _rule(
        "Actions need nobody's approval",
        "high",
        r"(?<![a-z_])(?:approv\w*|confirm\w*|ask\w*|permission[-_]?mode|default[-_]?mode|(?:human|user)[-_]?(?:review"
        r"|in[-_]the[-_]loop|approval)|review"
        r"|require[sd]?[-_]?(?:approval|confirmation|review|permission|human)\w*|prompt[-_]?(?:for|before)\w*"
        r"|supervis\w*)(?:\.\w+)?$",
        rf"{_OFF}|^(?:bypass\w*|yolo|full[-_]?auto|auto|on-failure|unattended|accept\w*|dontask)$",
    ),
    _rule(
        "A sandbox is switched off",
        "high",
        r"(?:sandbox\w*|isolat\w*|seccomp\w*|apparmor\w*|selinux\w*|contain(?:ed|ment))(?:\.(?:enabled?|mode|profile"
        r"|type|on|active))?$",
        rf"{_OFF}|^(?:unconfined|danger\S*|host|disabled?|full[-_]access)$",
    ),
    _rule(
        "Files, hosts or variables may be reached without limit",
        "medium",
        r"(?:permission|capabilit|scope|access|network|host|domain|url|file|fs|path|read|write|env|environment"
        r"|variable|pass"
        r"|secret|egress|ingress|outbound|allow|origin|root|mount)[\w-]*(?:\.[\w-]+)*$",
        rf"{_ALL}|^(?:network|net|files?|fs|filesystem|env|shell|exec|process|http|read|write|disk"
        rf"|secrets?)\s?[:=(]\s?(?:\*|/\*\*?|/|all|any)\)?$"
        r"|^(?:/|~|~/|\$home|\$\{?(?:localenv:)?home\}?|c:\\\\?)$",
    ),
    _rule(
        "A shell, or every program, is granted",
        "medium",
        r"(?:permission|capabilit|scope|grant|power|privilege)[\w-]*(?:\.(?:shell|exec|subprocess|root|admin|sudo"
        r"|process|terminal))?$",
        r"^(?:shell|shell:\*|exec|exec:\*|root|sudo|admin|superuser)$",
    ),
    _rule(
        "A shell, or every program, is granted",
        "medium",
        r"(?:permission|capabilit|scope|grant|power|privilege)[\w-]*\.(?:shell|exec|subprocess|root|admin|sudo"
        r"|process|terminal)$",
        _ON,
    ),
    _rule(
        "The whole environment is passed on",
        "high",
        r"(?:env\w*|environment|secrets?|variables?|credentials?)\.(?:inherit|pass\w*|share\w*|forward|copy|expose)$"
        r"|(?:inherit|pass|share|forward|copy|expose)[-_](?:all[-_])?(?:env\w*|secrets?|variables?|credentials?"
        r"|history|context)$",
        rf"{_ALL}|{_ON}|^\*$",
    ),
    _rule(
        "A container has the powers of its host",
        "high",
        r"(?:privileged|allow_?privilege_?escalation|host_?(?:network|pid|ipc|users))$",
        r"^(?:true|yes|1)$",
    ),
    _rule(
        "A container has the powers of its host",
        "high",
        r"(?:network_?mode|pid|ipc|userns_?mode|cap_?add|security_?opt|capabilities\.add|volumes?|mounts?|run_?args"
        r"|args|binds?"
        r"|workspace_?mount|host_?path(?:\.path)?|devices?)(?:\.\w+)?$",
        r"^host$|^(?:all|sys_admin|sys_ptrace|net_admin|sys_module|dac_override|cap_sys_admin)$|unconfined"
        r"|/var/run/docker\.sock|^--privileged"
        r"|^--(?:net|network|pid|ipc|userns)=host|--cap-add=?\s?(?:all|sys_admin)|^/(?::|$)|source=(?:/,"
        r"|\$\{?(?:localenv:)?(?:home|userprofile))"
        r"|^(?:\$\{?home\}?|~|/root|/home|/etc)/?:",
    ),
    _rule(
        "Whoever changes the code gets the rights of the repository",
        "medium",
        r"^(?:on(?:\.\w+)?|permissions(?:\.contents)?)$",
        r"^(?:pull_request_target|write-all|workflow_run)$",
    ),
)
# Of compositions: what is not in the bundle, and names no version that it stays at.
_OF_CHILDREN: Final = (
    _rule(
        "A child, or what it is told, comes from elsewhere and may change",
        "high",
        r"(?:^|\.)(?:origin|source|url|uri|from|uses|image|repository|repo|ref|location|href|endpoint|remote|include|extends)$",
        r"^(?!.*(?:@sha256:|[0-9a-f]{40}))(?:\w{2,10}\+)?(?:https?|git|oci|ssh|ftp|s3|gs|docker)://|^git@",
    ),
    _rule(
        "Children may do what nobody has allowed",
        "high",
        r"(?:delegation|delegate|policy|children|agents?|handoff|spawn|sub_?agents?)\.(?:allow\w*|to|children|mode|scope|max\w*)$",
        r"^(?:any|all|\*|inherit|unlimited|null)$",
    ),
    _rule(
        "Children get what was told to others",
        "high",
        r"(?:context|memory|history|secrets?|state|env\w*)\.(?:share\w*|scope|visibility|inherit|expose\w*|redact|with)$"
        r"|(?:share|pass|inherit|forward)[-_]?\w*$",
        r"^(?:true|yes|all|any|everything|everyone|full|\*|public|global|inherit)$",
    ),
)
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
    servers: dict[str, list[_Line]] = {}
    for line in _values(source):
        if _SCHEMA.search(line.keys):
            continue
        value = line.value.lower()
        rules = (*_RULES, *_OF_CHILDREN) if source.name == COMPOSITION else _RULES
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


def _values(source: SourceFile) -> Iterator[_Line]:
    """Yield the values of a file of settings with the keys above them, which is told by how far lines are indented."""
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
                yield _Line(number, ".".join(key for _, key in above), (item[2] or item[3] or "").strip())
            continue
        key, value = entry[2].lower().replace("-", "_"), entry[3].strip()
        keys = ".".join([*(one for _, one in above), key])
        above.append((indent, key))
        yield from _parts(number, keys, value)


def _parts(number: int, keys: str, value: str) -> Iterator[_Line]:
    """Yield a value, or those of a list or an object that stands in one line."""
    if value.startswith(("[", "{")):
        for part in value.strip("[]{} ").split(",")[:100]:
            key, colon, inner = part.partition(":")
            if value.startswith("{") and colon:
                yield _Line(number, f"{keys}.{key.strip(chr(34) + chr(39) + ' ').lower()}", inner.strip("\"' []{}"))
            else:
                yield _Line(number, keys, part.strip("\"' "))
        return
    yield _Line(number, keys, value.strip("\"'"))
    if " " in value and not value.startswith(('"', "'")):
        for word in value.split()[:40]:
            yield _Line(number, keys, word.strip("\"',"))


def _lines(source: SourceFile) -> list[str]:
    if source.suffix not in _FRONT_MATTER:
        return source.lines[:_MOST_LINES]
    if not source.text.startswith("---"):
        return []
    end = next((i for i, line in enumerate(source.lines[1:200], start=1) if line.strip() == "---"), 0)
    return source.lines[:end]
