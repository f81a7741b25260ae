"""Scanner that runs Semgrep CE with the rules of this package, offline.

The rules are data (`rules/*.yml`); the id of a rule says what a match is.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, cast

from miner.scanners.commands import shown, uses_of_command, words_of
from miner.scanners.engine import Match, run
from miner.scanners.prose import READERS, audience_of, decoded_texts, host_of
from miner.scanners.scanner import Bundle, Report, Target, Tool, Use, new_finding
from miner.scanners.source import KIB, SourceFile, is_document, read_object
from sssa.protocol import vocabulary as cap
from sssa.protocol.sssa import Category, Finding, Severity

MAX_FILE: Final = 256 * KIB  # bytes of a source that is scanned as code, or of a file that is searched as text
MAX_CODE: Final = 512 * KIB  # bytes of all sources together; one of JavaScript or TypeScript costs as much as three
MAX_TEXT: Final = 1024 * KIB  # bytes of all files that are searched as text
_SCRIPT_COST: Final = 3
MAX_COMMANDS: Final = 1_000
_RULES: Final = {
    "python": "python.yml",
    "javascript": "javascript.yml",
    "typescript": "javascript.yml",
    "bash": "shell.yml",
    "regex": "text.yml",
}  # by language: the engine reads the rules again for each bundle, as long as it takes to start
_IN_DOCUMENTS: Final = {("fetched-code-text", "critical"): "high", ("kept-text", "high"): "medium"}  # all can see it
_HOST: Final = re.compile(r"(?:[a-z0-9-]{1,63}\.){1,8}[a-z][a-z0-9-]{1,62}")
_JOINED: Final = re.compile(r"[\"'`]?https?://[\w.-]+\.[a-z]{2,24}(?=[:/?\"'`]|$)")
_STOLEN: Final = re.compile(r"AWS_|GITHUB_TOKEN|GH_TOKEN|NPM_TOKEN|SSH|\w*(?:PRIVATE_KEY|MNEMONIC|DECOY_SECRET)")
MINIFIED: Final = re.compile(
    rb"[^\n]{8000}"
)  # the engine's time is not linear in such lines, and no reader can check them
_LINE: Final = 8_000  # characters of a line that are decoded
_BETWEEN_LINES: Final = re.compile(r"\\[nr]|[\"'`],?\s*\+?\s*[\"'`]|\s")
_HERE_DOCUMENT: Final = re.compile(rb"<<-?\s{0,3}[\"'\\]?(\w{1,40})")
_FUNCTION: Final = re.compile(rb"(?m)^[ \t]{0,40}(?:function[ \t]{1,8})?([\w-]{1,80})[ \t]{0,8}\(\)")
_MOST_OF_KEY: Final = 8_000
_FEWEST_OF_KEY: Final = 200  # characters


class Semgrep:
    """The scanner of code, commands and written secrets."""

    def scan(self, bundle: Bundle) -> Report:
        """Return findings, uses, commands and tools of everything that the rules read.

        Raises:
            EngineError: Semgrep could not be run.
        """
        targets, beyond = _targets(bundle)
        matches, unread = run(targets, *dict.fromkeys(_RULES[target.language] for target in targets))
        matches.sort(key=lambda match: (match.target.source.path, match.line, match.start, match.rule))
        findings = [*beyond, *_findings(matches, in_library=is_library(bundle))]
        for source in {target.source.path: target.source for target in unread}.values():
            text = "The file is beyond what the engine reads: the rest can hold anything."
            findings.append(new_finding("other", "medium", source.place(), text, source.path))
        commands = [match for match in matches if match.rule.startswith("command.") and match.target.runs]
        return Report(
            findings=tuple(findings),
            uses=tuple(use for match in matches if match.target.runs for use in _uses(match)),
            commands=tuple(dict.fromkeys(text for match in commands if (text := shown(match.text))))[:MAX_COMMANDS],
            tools=tuple(_tools(matches, bundle)),
            unread=bool(unread or beyond),
        )


def _targets(bundle: Bundle) -> tuple[list[Target], list[Finding]]:
    """Return the files of the engine, and a finding for the first that is beyond the bounds."""
    targets: list[Target] = []
    code, text = MAX_CODE, MAX_TEXT
    beyond: list[Finding] = []
    for source in sorted(bundle.sources.values(), key=lambda s: (s.path.count("/"), len(s.content), s.path)):
        language = source.language if not source.unread else ""
        size = len(source.content)
        cost = size * _SCRIPT_COST if language in ("javascript", "typescript") else size
        if language and size <= MAX_FILE and cost <= code and not MINIFIED.search(source.content):
            code -= cost
            targets.append(Target(source, language, source.content))
        elif language and not beyond:
            beyond.append(_beyond(source))
        if size <= min(text, MAX_FILE) and source.suffix != "map" and not source.unread:
            text -= size
            trusted = is_trusted(source, bundle)
            targets.append(Target(source, "regex", source.content, trusted=trusted))
            decoded = "\n".join(" ".join(decoded_texts(line[:_LINE])) for line in source.lines)
            if decoded.strip():
                targets.append(Target(source, "regex", decoded.encode(), trusted=trusted))
    for one in sorted(bundle.snippets, key=lambda snippet: snippet.trusted):
        cost = len(one.content) * (_SCRIPT_COST if one.language == "javascript" else 1)
        if cost <= code:
            code -= cost
            targets.append(one)
        elif not one.trusted and not beyond:
            beyond.append(_beyond(one.source))
    return targets, beyond


def is_trusted(source: SourceFile, bundle: Bundle) -> bool:
    """Return whether the file is a document for readers, who decide what of it to run."""
    return is_document(source) and audience_of(source, bundle.part_of(source.path).skill_type) is READERS


def _beyond(source: SourceFile) -> Finding:
    text = f"Minified, or more than is read of one bundle: {source.path[:200]} is the first such file."
    return new_finding("other", "medium", source.place(), text, source.path)


def _findings(matches: Iterable[Match], *, in_library: bool) -> Iterator[Finding]:
    """Yield the findings; what a library offers to its callers counts less than what a skill does itself."""
    for match in matches:
        category, _, rest = match.rule.partition(".")
        severity = rest.partition(".")[0]
        if category not in cap.CATEGORIES:
            continue
        line = "".join(match.target.source.lines[match.line - 1 : match.line]).lstrip()
        if line.startswith(("#", "//")) and not is_document(match.target.source):
            continue  # a pattern of text matched in a comment
        if "private-key" in match.rule and not _is_whole_key(match):
            continue
        is_written = category == "secrets_exposure" and not re.search(r"sent|file|clear", match.rule)
        if (match.target.trusted and not is_written) or ("secret-sent" in match.rule and _is_credential(match)):
            severity = "low"
        if is_document(match.target.source):
            severity = _IN_DOCUMENTS.get((rest.partition(".")[2], severity), severity)
        target = _url(match) or match.target.source.path
        if severity == "medium" and category != "secrets_exposure" and in_library:
            severity = "low"
        yield new_finding(cast("Category", category), cast("Severity", severity), match.place, match.message, target)


def _is_whole_key(match: Match) -> bool:
    """Return whether a private key is as long as its first bytes say: examples end early."""
    after = match.target.content[match.start :][:_MOST_OF_KEY].decode("ascii", "replace")
    head, _, rest = after.removeprefix("-----BEGIN ").partition("-----")
    body = _BETWEEN_LINES.sub("", rest.partition("-----END")[0])
    if "OPENSSH" in head or ":" in body:
        return len(body) > _FEWEST_OF_KEY
    digits = re.match(r"[A-Za-z0-9+/]*", body)
    der = base64.b64decode(body[: digits.end() // 4 * 4 if digits else 0])
    size = der[1] if der[1:] else 0
    more = size & 0x7F if size & 0x80 else 0
    length = int.from_bytes(der[2 : 2 + more]) if more else size
    return der[:1] == b"\x30" and len(der) + 2 >= 2 + more + length


def is_library(bundle: Bundle) -> bool:
    """Return whether the bundle is a distribution that other programs import: a wheel, or a package of npm."""
    package = bundle.sources.get("package.json")
    document = (read_object(package) or {}) if package is not None else {}
    of_npm = not {"main", "exports", "module", "bin"}.isdisjoint(document)
    return of_npm or any(path.endswith(".dist-info/METADATA") for path in bundle.sources)


def _is_credential(match: Match) -> bool:
    """Return whether the variable that is sent is a credential for the service that it is sent to, by their names."""
    name = match.text_of("$NAME").strip("\"'")
    if not name:
        return False
    joined = _JOINED.search(match.text_of("$A"))
    host = _host(match) or (host_of(joined[0].strip("\"'`")) if joined else _host_of_constant(match))
    if not host:
        return _STOLEN.match(name) is None and bool(match.text_of("$URL"))
    return name.split("_")[0].lower() in host.replace("-", "")


def _host_of_constant(match: Match) -> str:
    """Return the host of the address that the file gives to a name in what is sent, if it spells one out."""
    constants = _addresses(match.target.source.text)
    names = re.findall(r"\b[A-Za-z_]\w{0,80}", match.text_of("$A"))
    return next((host_of(constants[name]) for name in names if name in constants), "")


@lru_cache(maxsize=8)
def _addresses(text: str) -> dict[str, str]:
    return dict(re.findall(r"\b([A-Za-z_]\w{0,80})\s{0,3}=\s{0,3}[\"'`](https?://[\w.-]{1,200})", text))


def _uses(match: Match) -> Iterator[Use]:
    kind, _, rest = match.rule.partition(".")
    if kind == "command" and match.text.split()[0] not in _shell_text(match.target.content).functions:
        yield from uses_of_command(words_of(match.text), match.place)
    if kind != "use" or ("redirect" in match.rule and _is_quoted(match)):
        return
    capability = rest.partition(".")[0]
    if capability == cap.NETWORK:
        yield Use(capability, match.place, _host(match))
    elif capability in (cap.DYNAMIC_CODE, cap.SERIALIZATION):
        yield Use(capability, match.place, re.split(r"[.(]", match.text.strip(), maxsplit=1)[0].split()[0])
    else:
        pattern = match.spelled("$PATTERN") or match.text_of("$1" if "redirect" in match.rule else "$NONE")
        if capability == cap.ENV_READ and not pattern:
            pattern = match.text_of("$PATTERN")
            pattern = pattern if re.fullmatch(r"[A-Za-z_]\w*", pattern) and "environ" not in match.text else ""
        if capability == cap.SUBPROCESS:
            words = pattern.split()
            pattern = words[0].rpartition("/")[2] if words and "$" not in words[0] else ""
        yield Use(capability, match.place, "" if "$" in pattern else pattern)


class _ShellText(NamedTuple):
    """A shell's script: the functions that it defines, and where each line begins that is in no document."""

    functions: frozenset[str]
    starts: dict[int, int]


@lru_cache(maxsize=8)
def _shell_text(content: bytes) -> _ShellText:
    starts, at, mark = dict[int, int](), 0, b""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not mark:
            starts[number] = at
            opened = _HERE_DOCUMENT.search(line)
            mark = opened[1] if opened else b""
        elif line.strip() == mark:
            mark = b""
        at += len(line) + 1
    return _ShellText(frozenset(name.decode() for name in _FUNCTION.findall(content)), starts)


def _is_quoted(match: Match) -> bool:
    """Return whether a match in a shell's script is text: within quotes, or in a document that is written there."""
    start = _shell_text(match.target.content).starts.get(match.line - match.target.offset)
    before = match.target.content[start : match.start] if start is not None else b'"'
    return before.count(b'"') % 2 == 1 or (before.count(b"'") % 2 == 1 and b'"' not in before)


def _url(match: Match) -> str:
    return match.spelled("$URL", followed=True) or match.spelled("$U", followed=True)


def _host(match: Match) -> str:
    """Return the host of the address that a call names, as far as the source spells it out."""
    spelled = _url(match)
    host = host_of(spelled)
    if host and "{" not in host:
        return host
    if _HOST.fullmatch(spelled.lower().partition(":")[0]):
        return spelled.lower().partition(":")[0]
    joined = _JOINED.match(match.text_of("$URL")) or _JOINED.match(match.propagated("$URL"))
    return host_of(joined[0].strip("\"'`")) if joined else ""


_QUOTED: Final = re.compile(r"[\"'`]([^\"'`]+)[\"'`]")
_DESCRIBED: Final = re.compile(r"@[\w.]+\.tool\((?=[^@]{0,4000}?\bname\s*=)[^@]{0,4000}?\bdescription\s*=")
_CONSTANT: Final = re.compile(r"(?:[A-Z]\w{0,80}\.)?[A-Z][A-Z0-9_]{0,80}(?:\.value)?|[A-Z]\w{0,80}\.\w{1,80}")
_NAME_GIVEN: Final = re.compile(r"@[\w.]+\.tool\(\s*(?:name\s*=\s*)?[\"']([\w./-]{1,128})[\"']")

# -- tools that code offers --------------------------------------------------------------------------------------------


def _tools(matches: list[Match], bundle: Bundle) -> Iterator[Tool]:
    """Yield the tools that code offers, each once, with the longest text where several rules match."""
    tools: dict[tuple[str, int, str], Tool] = {}
    for match in matches:
        described = "decorated" in match.rule and _DESCRIBED.match(match.text)  # then the rule of calls matches, too
        if match.rule.startswith("tool.") and not match.target.trusted and not described:
            quoted = match.text_of("$TEXT")
            is_code = quoted.lstrip("frbu")[:1] in ('"', "'", "`", "(")
            text = match.spelled("$TEXT", followed=True) or ("".join(_QUOTED.findall(quoted)) if is_code else quoted)
            source, name = match.target.source, _tool_name(match, bundle)
            line = match.line_of("$NAME") if "table" in match.rule else match.line
            known = tools.get((source.path, line, name))
            if known is None or len(text) > len(known.texts[0]):
                tools[source.path, line, name] = Tool(source, name, (text,), line, match.line_of("$TEXT"))
    yield from tools.values()


def _tool_name(match: Match, bundle: Bundle) -> str:
    """Return the name that a tool is offered by; empty where the source puts it together."""
    bare = match.text_of("$NAME")
    if match.rule.startswith("tool.decorated"):
        given = _NAME_GIVEN.match(match.text)
        return given[1] if given else bare
    name = match.spelled("$NAME", followed=True)
    if not name and _CONSTANT.fullmatch(bare):
        return _constant(bare.removesuffix(".value").rpartition(".")[2], bundle)
    return name


def _constant(name: str, bundle: Bundle) -> str:
    """Return the text that the bundle's code gives to a name, if it gives it one alone; else nothing."""
    assigned = re.compile(
        rf"\b{re.escape(name)}\s{{0,3}}(?::\s{{0,3}}\w+\s{{0,3}})?[=:]\s{{0,3}}[\"']([\w./-]{{1,128}})[\"']"
    )
    texts = {match[1] for one in bundle.sources.values() if one.language for match in assigned.finditer(one.text)}
    return texts.pop() if len(texts) == 1 else ""
