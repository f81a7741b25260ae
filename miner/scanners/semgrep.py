"""Scanner that runs Semgrep CE with the rules of this package, offline.

The engine is the binary `semgrep-core` of the kept package `semgrep`, started for each bundle without its command line:
no metrics, no check for versions, no home folder, an empty environment. The rules are data (`rules/*.yml`); the id of a
rule says what a match is.
"""

import importlib.util
import json
import re
import resource
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, cast

from miner.scanners.prose import READERS, audience_of, host_of
from miner.scanners.scanner import Bundle, Report, Tool, Use, found
from miner.scanners.source import KIB, SourceFile, is_document, read_object
from validator.protocol import vocabulary as cap
from validator.protocol.sssa import Category, Finding, Severity

MAX_FILE: Final = 256 * KIB  # bytes of a source that is scanned as code, or of a file that is searched as text
MAX_CODE: Final = 512 * KIB  # bytes of all sources together; one of JavaScript or TypeScript costs as much as three
MAX_TEXT: Final = 1024 * KIB  # bytes of all files that are searched as text
_SCRIPT_COST: Final = 3
MAX_COMMANDS: Final = 1_000
_CPU_S: Final = 20  # of the process, beyond which it is ended: a bundle may not keep a miner
_MEMORY_MIB: Final = 1_500
_RULES: Final = {
    "python": "python.yml",
    "javascript": "javascript.yml",
    "typescript": "javascript.yml",
    "bash": "shell.yml",
    "regex": "text.yml",
}  # by language: the engine reads the rules again for each bundle, as long as it takes to start
LANGUAGES: Final = {
    **dict.fromkeys(("py", "pyw"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "tsx", "mts", "cts"), "typescript"),
    **dict.fromkeys(("sh", "bash", "zsh", "ksh", "command"), "bash"),
}
_SHELL_LINE: Final = re.compile(rb"#!\s*\S*?(?:env\s+)?\S*?\b(?:ba|z|da|k)?sh\b")
_PYTHON_LINE: Final = re.compile(rb"#!\s*\S*?(?:env\s+)?\S*?\bpython")
_NODE_LINE: Final = re.compile(rb"#!\s*\S*?(?:env\s+)?\S*?\b(?:node|bun|deno)\b")
_LITERAL: Final = re.compile(r"^([rbuf]{0,2})(\"\"\"|'''|[\"'`])(.*)\2$", re.DOTALL)
_HOST: Final = re.compile(r"(?:[a-z0-9-]{1,63}\.){1,8}[a-z][a-z0-9-]{1,62}")
_JOINED: Final = re.compile(r"[\"'`]?https?://[\w.-]+\.[a-z]{2,24}(?=[:/?\"'`]|$)")
_STOLEN: Final = re.compile(r"AWS_|GITHUB_TOKEN|GH_TOKEN|NPM_TOKEN|SSH|\w*(?:PRIVATE_KEY|MNEMONIC|DECOY_SECRET)")
_MINIFIED: Final = re.compile(
    rb"[^\n]{8000}"
)  # the engine's time is not linear in such lines, and no reader can check them
_BINARY: Final = 1_024  # bytes in which a NUL tells that a file is no text


class EngineError(OSError):
    """Semgrep is not installed, or did not end as it should: `make setup` installs it."""


def language_of(source: SourceFile) -> str:
    """Return the language of a source that the rules read; empty for anything else."""
    first = source.content[:128]
    if first.startswith(b"#!"):
        for pattern, language in ((_PYTHON_LINE, "python"), (_NODE_LINE, "javascript"), (_SHELL_LINE, "bash")):
            if pattern.match(first):
                return language
    return LANGUAGES.get(source.suffix, "")


class _Target(NamedTuple):
    """A file of the engine: the source that it is from, and how its lines and findings count."""

    source: SourceFile
    language: str
    content: bytes
    offset: int = 0
    trusted: bool = False
    runs: bool = True


class Semgrep:
    """The scanner of code, commands and written secrets."""

    def scan(self, bundle: Bundle) -> Report:
        """Return findings, uses, commands and tools of everything that the rules read.

        Raises:
            EngineError: Semgrep could not be run.
        """
        targets, beyond = _targets(bundle)
        results, broken = _run(targets) if targets else ([], frozenset())
        matches = [_Match(targets[int(one["path"].rpartition("/")[2].partition(".")[0])], one) for one in results]
        matches.sort(key=lambda match: (match.target.source.path, match.line, match.start, match.rule))
        findings = [*beyond, *_findings(matches, is_library=_is_library(bundle)), *_leaks(matches, bundle)]
        for number in sorted(broken):
            source = targets[number].source
            text = "The file is beyond what the engine reads: the rest can hold anything."
            findings.append(found("other", "medium", source.place(), text, source.path))
        commands = [match for match in matches if match.rule.startswith("command.") and match.target.runs]
        return Report(
            findings=tuple(findings),
            uses=tuple(use for match in matches if match.target.runs for use in _uses(match)),
            commands=tuple(dict.fromkeys(text for match in commands if (text := _shown(match))))[:MAX_COMMANDS],
            tools=tuple(_tools(matches, bundle)),
            unread=bool(broken or beyond),
        )


def _targets(bundle: Bundle) -> tuple[list[_Target], list[Finding]]:
    """Return the files of the engine, and a finding for the first that is beyond the bounds."""
    targets: list[_Target] = []
    code, text = MAX_CODE, MAX_TEXT
    beyond: list[Finding] = []
    for source in sorted(bundle.sources.values(), key=lambda s: (s.path.count("/"), len(s.content), s.path)):
        language = language_of(source)
        size = len(source.content)
        cost = size * _SCRIPT_COST if language in ("javascript", "typescript") else size
        if language and size <= MAX_FILE and cost <= code and not _MINIFIED.search(source.content):
            code -= cost
            targets.append(_Target(source, language, source.content))
        elif language and not beyond:
            text_ = f"Minified, or more than is read of one bundle: {source.path[:200]} is the first such file."
            beyond.append(found("other", "medium", source.place(), text_, source.path))
        if size <= min(text, MAX_FILE) and source.suffix != "map" and b"\0" not in source.content[:_BINARY]:
            text -= size
            part = bundle.part_of(source.path)
            trusted = is_document(source) and audience_of(source, part.skill_type) is READERS
            targets.append(_Target(source, "regex", source.content, trusted=trusted))
    targets += [
        _Target(one.source, one.language, one.text.encode(), one.line - 1, one.trusted, one.runs)
        for one in bundle.snippets
    ]
    return targets, beyond


@cache
def engine() -> str:
    """Return the path of `semgrep-core`.

    Raises:
        EngineError: there is none.
    """
    spec = importlib.util.find_spec("semgrep")
    places = [
        Path(folder, "bin", "semgrep-core") for folder in (spec.submodule_search_locations if spec else None) or ()
    ]
    path = next((str(place) for place in places if place.is_file()), None) or shutil.which("semgrep-core")
    if path is None:
        raise EngineError(
            "semgrep-core is not installed: pip install --require-hashes --no-deps -r requirements/scanners.txt"
        )
    return path


def _run(targets: list[_Target]) -> tuple[list[dict[str, Any]], frozenset[int]]:
    """Return the engine's matches, and the numbers of the targets that it gave up on."""
    suffixes = {"python": "py", "javascript": "js", "typescript": "ts", "bash": "sh", "regex": "txt"}
    with TemporaryDirectory(prefix="sssa-scan-") as folder:
        listed = []
        for number, target in enumerate(targets):
            suffix = "tsx" if target.source.suffix == "tsx" else suffixes[target.language]
            path = f"{folder}/{number}.{suffix}"  # no name of a bundle becomes a path
            Path(path).write_bytes(target.content)
            paths = {"fpath": path, "ppath": f"/{number}.{suffix}"}
            listed.append(["CodeTarget", {"path": paths, "analyzer": target.language, "products": ["sast"]}])
        Path(folder, "targets.json").write_text(json.dumps(["Targets", listed]), "utf-8")
        rules = files(__package__).joinpath("rules")
        needed = dict.fromkeys(_RULES[target.language] for target in targets)
        command = [engine(), *(word for name in needed for word in ("-rules", str(rules.joinpath(name))))]
        command += ["-targets", f"{folder}/targets.json", "-json_nodots", "-j", "1", "-fast"]
        command += ["-timeout", "2", "-timeout_threshold", "3", "-max_memory", str(_MEMORY_MIB)]
        done = subprocess.run(  # noqa: S603 - the engine; no word of the bundle is in the command
            command, env={}, cwd=folder, capture_output=True, check=False, timeout=60, preexec_fn=_bounded
        )
    try:
        document = json.loads(done.stdout.decode("utf-8", "replace"))
        results = document["results"]
    except (ValueError, KeyError):
        raise EngineError(f"semgrep-core ended with {done.returncode} and without a result") from None
    failed = [one for one in document["errors"] if "rule" in str(one.get("error_type", "")).lower()]
    if failed:
        raise EngineError(f"semgrep-core cannot read rule {failed[0].get('rule_id')}")
    given_up = ("Timeout", "Out of memory", "Stack overflow", "Fixpoint")
    broken = {
        int(one["location"]["path"].rpartition("/")[2].partition(".")[0])
        for one in document["errors"]
        if str(one.get("error_type", "")).startswith(given_up) and "location" in one
    }
    return cast("list[dict[str, Any]]", results), frozenset(broken)


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _Match:
    """A match of a rule, with places of the file that it came from."""

    def __init__(self, target: _Target, result: dict[str, Any]) -> None:
        self.target = target
        self.rule: str = result["check_id"]
        self.start: int = result["start"]["offset"]
        self.line: int = result["start"]["line"] + target.offset
        self.text = target.content[self.start : result["end"]["offset"]].decode("utf-8", "replace")
        self.message: str = result["extra"]["message"]
        self._variables: dict[str, Any] = result["extra"]["metavars"]

    @property
    def place(self) -> str:
        """Evidence of the match: the line on which it begins."""
        return self.target.source.place(self.line)

    def line_of(self, name: str) -> int:
        """Return the line of what the variable matched."""
        found_at = self._variables.get(name)
        return int(found_at["start"]["line"]) + self.target.offset if found_at else self.line

    def spelled(self, name: str, *, followed: bool = False) -> str:
        """Return the text of a literal that the variable matched, of a constant's too if `followed`; else empty."""
        variable = self._variables.get(name)
        if variable is None:
            return ""
        start, end = variable["start"]["offset"], variable["end"]["offset"]
        texts = [self.target.content[start:end].decode("utf-8", "replace")]
        if followed:
            texts.append(variable.get("propagated_value", {}).get("svalue_abstract_content", ""))
        literal = next((match for text in texts if (match := _LITERAL.match(text))), None)
        if (
            literal is None
            or literal[2] in literal[3]
            or "${" in literal[3]
            or ("f" in literal[1] and "{" in literal[3])
        ):
            return ""
        return literal[3]

    def text_of(self, name: str) -> str:
        """Return the source that the variable matched."""
        variable = self._variables.get(name)
        if variable is None:
            return ""
        start, end = variable["start"]["offset"], variable["end"]["offset"]
        return self.target.content[start:end].decode("utf-8", "replace")

    def propagated(self, name: str) -> str:
        """Return the source of the constant that the variable holds, as the engine follows it."""
        return str(self._variables.get(name, {}).get("propagated_value", {}).get("svalue_abstract_content", ""))


def _findings(matches: Iterable[_Match], *, is_library: bool) -> Iterator[Finding]:
    """Yield the findings; what a library offers to its callers counts less than what a skill does itself."""
    for match in matches:
        category, _, rest = match.rule.partition(".")
        severity = rest.partition(".")[0]
        if category not in cap.CATEGORIES:
            continue
        line = "".join(match.target.source.lines[match.line - 1 : match.line]).lstrip()
        if line.startswith(("#", "//")) and not is_document(match.target.source):
            continue  # a pattern of text matched in a comment
        is_written = category == "secrets_exposure" and not re.search(r"sent|file|clear", match.rule)
        if (match.target.trusted and not is_written) or ("secret-sent" in match.rule and _is_credential(match)):
            severity = "low"
        target = _url(match) or match.target.source.path
        if severity == "medium" and category != "secrets_exposure" and is_library:
            severity = "low"
        yield found(cast("Category", category), cast("Severity", severity), match.place, match.message, target)


def _is_library(bundle: Bundle) -> bool:
    """Return whether the bundle is a distribution that other programs import: a wheel, or a package of npm."""
    package = bundle.sources.get("package.json")
    document = (read_object(package) or {}) if package is not None else {}
    of_npm = not {"main", "exports", "module", "bin"}.isdisjoint(document)
    return of_npm or any(path.endswith(".dist-info/METADATA") for path in bundle.sources)


def _is_credential(match: _Match) -> bool:
    """Return whether the variable that is sent is a credential for the service that it is sent to, by their names."""
    name = match.text_of("$NAME").strip("\"'")
    if not name:
        return False
    joined = _JOINED.search(match.text_of("$A"))
    host = _host(match) or (host_of(joined[0].strip("\"'`")) if joined else "")
    if not host:
        return _STOLEN.match(name) is None and bool(match.text_of("$URL"))
    return name.split("_")[0].lower() in host.replace("-", "")


def _leaks(matches: list[_Match], bundle: Bundle) -> Iterator[Finding]:
    """Yield a finding where one function reads secrets and another sends text away, in one part of the bundle.

    The engine follows values within a function only; this joins the halves.
    """
    sources = [match for match in matches if match.rule.startswith("source.") or ".secret-file" in match.rule]
    direct = {match.target.source.path for match in matches if "-sent" in match.rule}
    for sink in (match for match in matches if match.rule.startswith("sink.")):
        path = sink.target.source.path
        part = bundle.part_of(path)
        halves = [one for one in sources if bundle.part_of(one.target.source.path) is part]
        if not halves or path in direct or sink.target.trusted or halves[0].target.trusted:
            continue
        near = next((one for one in halves if one.target.source is sink.target.source), None)
        text = f"Text is sent away in a skill that reads secrets ({(near or halves[0]).place})."
        target = _url(sink) or path
        yield found("secrets_exposure", "critical" if near else "high", sink.place, text, target)


def _uses(match: _Match) -> Iterator[Use]:
    kind, _, rest = match.rule.partition(".")
    if kind == "command":
        yield from _uses_of_command(_words(match.text), match.place)
    if kind != "use":
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


def _url(match: _Match) -> str:
    return match.spelled("$URL", followed=True) or match.spelled("$U", followed=True)


def _host(match: _Match) -> str:
    """Return the host of the address that a call names, as far as the source spells it out."""
    spelled = _url(match)
    host = host_of(spelled)
    if host and "{" not in host:
        return host
    if _HOST.fullmatch(spelled.lower().partition(":")[0]):
        return spelled.lower().partition(":")[0]
    joined = _JOINED.match(match.text_of("$URL")) or _JOINED.match(match.propagated("$URL"))
    return host_of(joined[0].strip("\"'`")) if joined else ""


# -- commands of shells: the uses of their words -----------------------------------------------------------------------

_BUILTINS: Final = frozenset(
    [
        "[",
        "[[",
        ":",
        ".",
        "alias",
        "bg",
        "break",
        "builtin",
        "cd",
        "command",
        "continue",
        "declare",
        "dirs",
        "echo",
        "eval",
        "exec",
        "exit",
        "export",
        "false",
        "fg",
        "getopts",
        "hash",
        "help",
        "jobs",
        "kill",
        "let",
        "local",
        "logout",
        "popd",
        "printf",
        "pushd",
        "pwd",
        "read",
        "readonly",
        "return",
        "set",
        "shift",
        "shopt",
        "source",
        "test",
        "times",
        "trap",
        "true",
        "type",
        "typeset",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "wait",
        "if",
        "then",
        "else",
        "fi",
        "do",
        "done",
        "for",
        "while",
        "case",
        "esac",
        "function",
    ]
)
_READERS: Final = frozenset(
    [
        "cat",
        "cut",
        "sort",
        "uniq",
        "wc",
        "head",
        "tail",
        "grep",
        "less",
        "more",
        "ls",
        "tac",
        "nl",
        "diff",
        "od",
        "strings",
        "sha256sum",
        "md5sum",
    ]
)
_WRITERS: Final = frozenset(["mkdir", "touch", "chmod", "chown", "tee", "rmdir", "truncate", "mktemp"])
_COPIERS: Final = frozenset(["cp", "mv", "install", "ln"])
_REMOVERS: Final = frozenset({"rm", "unlink", "shred"})
_NETWORK: Final = frozenset(
    ["curl", "wget", "nc", "ncat", "ssh", "scp", "rsync", "ftp", "telnet", "nslookup", "dig", "host", "ping"]
)
_VALUED: Final = {
    "cut": "dfcb", "sort": "kto", "head": "nc", "tail": "nc", "grep": "efmABC", "chmod": "", "uniq": "fsw", "mkdir": "m"
}  # fmt: skip
_WRAPPERS: Final = frozenset(["sudo", "time", "nohup", "nice", "exec", "command", "xargs", "stdbuf"])
_INTERPRETED: Final = frozenset(["sed", "awk", "jq"])  # the first operand is a program, not a file


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError:
        return text.split()


def _shown(match: _Match) -> str:
    """Return a command as a trace shows it, if nothing in it is put together at run time."""
    words = _words(match.text)
    shown = " ".join(words)
    return "" if not words or any(c in shown for c in "$`*?<>(") or words[0] in ("set", "eval") else shown


def _uses_of_command(words: list[str], place: str) -> Iterator[Use]:
    while words and (words[0] in _WRAPPERS or re.match(r"\w+=", words[0])):
        words = words[1:]
    if not words:
        return
    program = words[0].rpartition("/")[2]
    if program == "eval":
        yield Use(cap.DYNAMIC_CODE, place, "eval")
    if program in _BUILTINS:
        return
    yield Use(cap.SUBPROCESS, place, "" if set(program) & set("$`(") else program)
    yield from _uses_of_operands(program, list(_operands(program, words[1:])), words, place)


def _uses_of_operands(program: str, operands: list[str], words: list[str], place: str) -> Iterator[Use]:
    if program in ("env", "printenv"):
        yield from [Use(cap.ENV_READ, place, name) for name in operands] or [Use(cap.ENV_READ, place)]
    elif program in _NETWORK:
        host = next((host for word in words if (host := host_of(word))), "")
        yield Use(cap.NETWORK, place, "" if "$" in host else host)
    elif program in _COPIERS:
        yield from (Use(cap.FILE_WRITE, place, _path(word)) for word in operands[-1:])
    elif program in _INTERPRETED:
        yield from (Use(cap.FILE_READ, place, _path(word)) for word in operands[1:])
    for capability, programs in ((cap.FILE_READ, _READERS), (cap.FILE_WRITE, _WRITERS), (cap.FILE_DELETE, _REMOVERS)):
        skipped = 1 if program in ("chmod", "chown", "grep") else 0
        yield from (Use(capability, place, _path(word)) for word in operands[skipped:] if program in programs)


def _operands(program: str, words: list[str]) -> Iterator[str]:
    valued = _VALUED.get(program, "")
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-") and len(word) > 1:
            skip = len(word) == 2 and word[1] in valued  # noqa: PLR2004 - a flag of one letter
        else:
            yield word


def _path(word: str) -> str:
    return "" if set(word) & set("$`*?({") else word


_QUOTED: Final = re.compile(r"[\"'`]([^\"'`]+)[\"'`]")
_DESCRIBED: Final = re.compile(r"@[\w.]+\.tool\((?=[^@]{0,4000}?\bname\s*=)[^@]{0,4000}?\bdescription\s*=")
_NAME_GIVEN: Final = re.compile(r"@[\w.]+\.tool\(\s*(?:name\s*=\s*)?[\"']([\w./-]{1,128})[\"']")

# -- tools that code offers --------------------------------------------------------------------------------------------


def _tools(matches: list[_Match], bundle: Bundle) -> Iterator[Tool]:
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


def _tool_name(match: _Match, bundle: Bundle) -> str:
    """Return the name that a tool is offered by; empty where the source puts it together."""
    bare = match.text_of("$NAME")
    if match.rule.startswith("tool.decorated"):
        given = _NAME_GIVEN.match(match.text)
        return given[1] if given else bare
    name = match.spelled("$NAME", followed=True)
    if not name and re.fullmatch(r"[A-Za-z_][\w.]{0,80}", bare):
        return _constant(bare.removesuffix(".value").rpartition(".")[2], bundle)
    return name


def _constant(name: str, bundle: Bundle) -> str:
    """Return the text that the bundle's code gives to a name, if it gives it one alone; else nothing."""
    assigned = re.compile(
        rf"\b{re.escape(name)}\s{{0,3}}(?::\s{{0,3}}\w+\s{{0,3}})?[=:]\s{{0,3}}[\"']([\w./-]{{1,128}})[\"']"
    )
    texts = {match[1] for one in bundle.sources.values() if language_of(one) for match in assigned.finditer(one.text)}
    return texts.pop() if len(texts) == 1 else ""
