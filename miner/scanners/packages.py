"""Scanner of dependencies: pins of PyPI and npm with their advisories, and packages that are not what they seem."""

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from email.parser import BytesParser
from email.policy import compat32
from functools import cache, partial
from importlib.resources import files
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from rapidfuzz.distance import OSA

from miner.scanners.osv import Advisory, Ecosystem, Pinned, shipped_for
from miner.scanners.scanner import Bundle, Report, Use, new_finding
from miner.scanners.source import KIB, MAX_JSON, SourceFile, line_of, read_object, rules_of, string
from sssa.protocol.sssa import Dependency, Finding
from sssa.protocol.strict_json import JsonError, decode_plain

MAX_FILES: Final = 64  # files that name packages
MAX_LOCK: Final = 2048 * KIB  # a lock file that is larger is not read
MAX_LOCKED: Final = 4_096  # packages of one lock file
MAX_PINNED: Final = 8_192
_MAX_ENTRIES: Final = 2_000  # of a file that people write
_MAX_ENTRY: Final = 512  # characters of one
_MAX_TOML: Final = 64 * KIB
_DOTTED: Final = re.compile(r"[\w\"' \t.-]+")
_MAX_DOTS: Final = 64  # in a row: tomllib's time is quadratic in the parts of a dotted key
_SHORTEST_PART: Final = 8  # letters of a part of a name that can be mistaken
_SHORTEST: Final = 5  # letters of a name that can be mistaken for another
_TOML_LOCKS: Final = frozenset({"poetry.lock", "uv.lock", "pdm.lock", "pylock.toml"})
_CONDA_FILE: Final = re.compile(r"(?i)^(?:environment|conda|env)[\w.-]{0,40}\.ya?ml$")
_PYTHON_NAMES: Final = _TOML_LOCKS | {"Pipfile", "Pipfile.lock", "pyproject.toml", "setup.cfg", "METADATA", "PKG-INFO"}
_LOCKED: Final = re.compile(r"(?m)^name = \"([\w.-]{1,128})\"")
_LOCKED_VERSION: Final = re.compile(r"(?m)^version = \"([^\"]{1,64})\"")
_OF_ELSEWHERE: Final = re.compile(
    r"(?m)^source = \{[^}\n]{0,200}\b(?:editable|virtual|directory|path|git)\b"
    r"|^type = \"(?:git|directory|file|url)\"|^\[packages\.(?:vcs|directory)\]|^editable = true|^path = "
)
_EXACT_NPM: Final = re.compile(r"=?v?(\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+][0-9A-Za-z.+-]{1,40})?)")
_VERSION: Final = r"\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+][0-9A-Za-z.+-]{1,40})?"
_NAME: Final = r"(?:@[\w.~-]{1,100}/)?[\w.~-]{1,214}"
_KEY: Final = re.compile(rb'^\s{0,200}"((?:[^"\\]|\\.){1,600})"\s{0,8}:\s{0,8}\{')
_SCRIPT: Final = re.compile(r"(?m)^# /// script\s*\n((?:#[^\n]*\n){1,200}?)# ///")
_CONDA: Final = re.compile(
    r"\s{0,20}- ['\"]?(?:[\w.-]{1,60}::)?([A-Za-z][\w.-]{0,100})\s?={1,3}\s?(\d[\w.!+]{0,40})"
    r"(?:=\S{1,80})?['\"]?\s*(?:#|$)"
)
_BUN: Final = re.compile(rf'\s{{1,20}}"[^"\n]{{1,300}}": \["({_NAME})@({_VERSION})"')
_SPECIFIER: Final = re.compile(rf"\bnpm:/?({_NAME})@({_VERSION})")
_DENO: Final = re.compile(rf'\s{{1,20}}"({_NAME})@({_VERSION})(?:_[^"\n]{{0,300}})?": \{{')
_PURL: Final = re.compile(r"pkg:(pypi|npm)/((?:%40|@)?[\w.~/-]{1,214})@([\w.+!-]{1,64})")
_MATERIALS: Final = re.compile(r"(?i)(?:^|[._-])(?:s?bom|cdx|spdx|cyclonedx)[._-].{0,20}(?:json|xml)$")
_YARN_ENTRY: Final = re.compile(rf'"?({_NAME})@(?:npm:({_NAME})@)?')
_ELSEWHERE_IN_YARN: Final = re.compile(r"@(?:workspace|file|link|portal|git[\w+]*|https?|ssh|patch):")
_YARN_VERSION: Final = re.compile(rf'  version:? "?({_VERSION})"?\s*$')
_PNPM_ENTRY: Final = re.compile(rf"  ['\"]?/?({_NAME})[@/]({_VERSION})(?:[(_][^:]{{0,400}})?['\"]?:\s*$")
_ELSEWHERE: Final = re.compile(
    r"https?://(?!(?:github|gitlab|codeload\.github)\.com)|git\+https?://(?!(?:github|gitlab)\.com)"
)
_RESOLVED: Final = re.compile(r"\"resolved\": \"(https?://[^/\"]{1,253})|^  resolved \"(https?://[^/\"]{1,253})")
_REGISTRIES: Final = re.compile(
    r"//(?:registry\.npmjs\.org|registry\.yarnpkg\.com|npm\.pkg\.github\.com|codeload\.github\.com|github\.com)$"
)
_INSTALLS: Final = re.compile(
    r"(?:(\b(?:pip3?|pipx|uv|poetry|pdm)\s+(?:install|add|pip\s+install|run|tool\s+install)|\buvx)"
    r"|\b(?:(?:npm|pnpm|yarn|bun)\s+(?:i|install|add|exec|dlx)|npx|bunx))((?:[ \t]+[^\s;|&`<>#()]{1,120}){1,20})"
)
_BARE: Final = re.compile(r"(?!-)@?[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?(?=$|@|[=<>~!\[])")
_PROGRAMS: Final = frozenset({"python", "python3", "playwright", "pytest"})
_COMMANDS: Final = frozenset(
    {
        *("node", "npm", "npx", "git", "ssh", "sudo", "bash", "sh", "python", "python3", "pip"),
        *("curl", "wget", "docker", "ls", "cd", "cat", "code", "claude"),
    }
)


class Pin(NamedTuple):
    """A package at one version; `version` is empty if the entry leaves it open."""

    package: str
    version: str
    line: int


class Packages:
    """The scanner of files that name packages."""

    def scan(self, bundle: Bundle) -> Report:
        """Return pins as dependencies with their advisories, and entries that may bring a stranger's package."""
        sources = [one for one in bundle.sources.values() if names_packages(one)]
        pinned = pinned_in(sources)
        known = shipped_for(pinned)
        findings = [advised(pin, one) for pin in pinned for one in known.get(pin, ())]
        for source in sources:
            findings += _strangers(source)
        named = {one for source in sources for one in pins_of(source)}
        for source in bundle.sources.values():
            findings += _strangers_in_commands(source, {one.package for one in named})
        uses = [use for source in bundle.sources.values() for use in _library_uses(source)]
        dependencies = tuple(Dependency(p.package, p.version, tuple(a.id for a in known.get(p, ()))) for p in pinned)
        return Report(findings=tuple(findings), uses=tuple(uses), dependencies=dependencies)


def advised(pin: Pinned, advisory: Advisory) -> Finding:
    """Return the finding for one vulnerability of a pin, with its aliases and no other ids (SPEC 17, D-38)."""
    if advisory.is_malware:
        text = f"{pin.package} {pin.version} is known malware ({advisory.id})."
        return new_finding("excessive_capability", "critical", pin.place, text, pin.url)
    text = f"{pin.package} {pin.version}: {advisory.summary or advisory.id}"
    finding = new_finding("dependency_cve", advisory.severity or "medium", pin.place, text, pin.url)
    return msgspec.structs.replace(finding, cve_ids=advisory.nameable)


def names_packages(source: SourceFile) -> bool:
    """Return whether the file is one of those that name dependencies."""
    if _MATERIALS.search(source.name) or _CONDA_FILE.search(source.name):
        return True
    if source.language == "python" and "# /// script" in source.text[:4_000]:
        return True
    listed = "requirements" in source.name or "constraints" in source.name or "/requirements/" in f"/{source.path}"
    return (listed and source.suffix in ("txt", "in")) or source.name in _PYTHON_NAMES or source.name in READERS


def pinned_in(sources: Iterable[SourceFile]) -> tuple[Pinned, ...]:
    """Return what the files pin, those nearest the root first: at most `MAX_PINNED` packages."""
    pins: dict[tuple[str, str, str], Pinned] = {}
    for source in sorted(filter(names_packages, sources), key=lambda s: (s.path.count("/"), s.path))[:MAX_FILES]:
        ecosystem: Ecosystem = "npm" if source.name in READERS else "PyPI"
        named: list[tuple[Ecosystem, Pin]] = [(ecosystem, pin) for pin in pins_of(source) if pin.version]
        for kind, (name, version, line) in [*named, *_materials(source)]:
            pin = Pinned(kind, name, version, source.place(line))
            pins.setdefault(pin[:3], pin)
    return tuple(islice(pins.values(), MAX_PINNED))


def pins_of(source: SourceFile) -> list[Pin]:
    """Return the packages that the file names, the first ones; those without a version, too."""
    reader = READERS.get(source.name)
    if reader is None and source.name in _TOML_LOCKS:
        reader = _toml_lock
    if reader is not None:
        return list(islice(reader(source), MAX_LOCKED)) if len(source.content) <= MAX_LOCK else []
    if len(source.content) > MAX_JSON or _MATERIALS.search(source.name):
        return []
    readers: dict[str, Callable[[SourceFile], Iterator[Pin]]] = {
        "Pipfile.lock": _pipfile_lock,
        "METADATA": _metadata,
        "PKG-INFO": _metadata,
    }
    if source.name in readers:
        return list(readers[source.name](source))
    entries: Callable[[SourceFile], Iterable[tuple[str, int]]] = _requirements_txt
    if source.name in ("pyproject.toml", "Pipfile") or source.language == "python":
        entries = _pyproject
    elif source.name == "setup.cfg":
        entries = _setup_cfg
    elif _CONDA_FILE.search(source.name):
        entries = _environment
    return [pin for entry, line in entries(source) for pin in _pin(entry, line)]


def _materials(source: SourceFile) -> Iterator[tuple[Ecosystem, Pin]]:
    """Yield what a bill of materials (CycloneDX, SPDX) names by package URLs."""
    if not _MATERIALS.search(source.name) or len(source.content) > MAX_LOCK:
        return
    for number, line in enumerate(_lines(source), start=1):
        for kind, package, version in _PURL.findall(line)[:MAX_LOCKED]:
            name = unquote(package)
            of_npm = kind == "npm"
            yield "npm" if of_npm else "PyPI", Pin(name if of_npm else canonicalize_name(name), version, number)


# -- Python ------------------------------------------------------------------------------------------------------------


def _pin(entry: str, line: int) -> Iterator[Pin]:
    try:
        requirement = Requirement(entry if len(entry) <= _MAX_ENTRY else "")
        exact = [s.version for s in requirement.specifier if s.operator in ("==", "===")]
        version = str(Version(exact[0])) if exact and not exact[0].endswith(".*") else ""
        yield Pin(canonicalize_name(requirement.name), version, line)
    except (InvalidRequirement, InvalidVersion, ValueError, RecursionError):
        return


def _requirements_txt(source: SourceFile) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(source.lines[:_MAX_ENTRIES], start=1):
        entry = re.split(r"#|\s--", line.lstrip("\ufeff"), maxsplit=1)[0].strip().rstrip("\\").strip()
        if entry and not entry.startswith(("#", "-")):
            yield entry, number


def _toml_lock(source: SourceFile) -> Iterator[Pin]:
    """Yield the packages of a lock file by its lines, as tools write it: TOML in full costs more than it tells.

    A package of a folder, of git or of an address is not the one of the registry.
    """
    blocks = re.split(r"(?m)^(?=\[\[)", source.text)
    first = 1
    for block in blocks:
        name, version = _LOCKED.search(block), _LOCKED_VERSION.search(block)
        if name and version and not _OF_ELSEWHERE.search(block):
            yield from _pin(f"{name[1]}=={version[1]}", first + block.count("\n", 0, version.start()))
        first += block.count("\n")


def _pipfile_lock(source: SourceFile) -> Iterator[Pin]:
    document = read_object(source) or {}
    lines = {line.strip().partition(":")[0]: number for number, line in enumerate(source.lines, start=1)}
    for group in ("default", "develop"):
        for package, entry in islice(_table(document.get(group)).items(), MAX_LOCKED):
            version = _table(entry).get("version")
            if isinstance(version, str):
                yield from _pin(f"{package}{version}", lines.get(f'"{package}"', 1))


def _pyproject(source: SourceFile) -> list[tuple[str, int]]:
    if len(source.content) > _MAX_TOML or any(run.count(".") > _MAX_DOTS for run in _DOTTED.findall(source.text)):
        return []
    try:
        document = tomllib.loads(_script_block(source) if source.language == "python" else source.text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return []
    project, tool = _table(document.get("project")), _table(document.get("tool"))
    lists = [document.get("dependencies"), project.get("dependencies")]  # the first in a script (PEP 723)
    lists += _table(project.get("optional-dependencies")).values()
    lists += _table(document.get("dependency-groups")).values()
    lists.append(_table(document.get("build-system")).get("requires"))
    own = {canonicalize_name(name) for name in _table(_table(tool.get("uv")).get("sources"))}  # not of the registry
    entries = [
        entry
        for some in lists
        if isinstance(some, list)
        for entry in some
        if isinstance(entry, str) and canonicalize_name(re.split(r"[^\w.-]", entry.strip(), maxsplit=1)[0]) not in own
    ]
    poetry = _table(tool.get("poetry"))
    groups = [one.get("dependencies") for one in map(_table, _table(poetry.get("group")).values())]
    tables = [poetry.get("dependencies"), poetry.get("dev-dependencies"), *groups]
    tables += [document.get("packages"), document.get("dev-packages")]  # of a Pipfile
    for name, wanted in ((name, wanted) for table in tables for name, wanted in _table(table).items()):
        version = wanted if isinstance(wanted, str) else string(_table(wanted).get("version"))
        if version.lstrip("= ")[:1].isdigit():
            entries.append(f"{name}=={version.lstrip('= ')}")
    return [(entry, source.line_with(entry, entry.partition("==")[0])) for entry in entries[:_MAX_ENTRIES]]


def _script_block(source: SourceFile) -> str:
    """Return what a script says of its dependencies (PEP 723)."""
    block = _SCRIPT.search(source.text)
    return re.sub(r"(?m)^# ?", "", block[1]) if block else ""


def _environment(source: SourceFile) -> list[tuple[str, int]]:
    """Return the pins of a conda environment, and of pip within one."""
    lines = enumerate(source.lines[:_MAX_ENTRIES], start=1)
    return [(f"{match[1]}=={match[2]}", number) for number, line in lines if (match := _CONDA.match(line))]


def _setup_cfg(source: SourceFile) -> list[tuple[str, int]]:
    config = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        config.read_string(source.text)
        text = config.get("options", "install_requires", fallback="")
    except (configparser.Error, ValueError):
        return []
    return [(line.strip(), source.line_with(line.strip())) for line in text.split("\n")[:_MAX_ENTRIES] if line.strip()]


def _metadata(source: SourceFile) -> Iterator[Pin]:
    """Yield the distribution itself and what it requires at an exact version."""
    headers = BytesParser(policy=compat32).parsebytes(source.content.partition(b"\n\n")[0], headersonly=True)
    name, version = str(headers.get("Name", "")), str(headers.get("Version", ""))
    yield from _pin(f"{name}=={version}", source.line_with(f"Version: {version}"))
    for entry in headers.get_all("Requires-Dist", [])[:_MAX_ENTRIES]:
        yield from (pin for pin in _pin(str(entry), source.line_with(str(entry))) if pin.version)


# -- npm ---------------------------------------------------------------------------------------------------------------


def _package_json(source: SourceFile) -> Iterator[Pin]:
    for name, wanted, line in _wanted(source):
        alias = _SPECIFIER.fullmatch(wanted)
        exact = _EXACT_NPM.fullmatch(wanted)
        yield Pin(alias[1], alias[2], line) if alias else Pin(name, exact[1] if exact else "", line)


def _wanted(source: SourceFile) -> Iterator[tuple[str, str, int]]:
    document = read_object(source) or {}
    for key in ("dependencies", "optionalDependencies", "devDependencies"):
        start = line_of(source, key)
        for name, wanted in islice(_table(document.get(key)).items(), _MAX_ENTRIES):
            if key != "devDependencies":
                yield name, string(wanted).strip(), line_of(source, name, start)


def _package_lock(source: SourceFile) -> Iterator[Pin]:
    """Yield the pins of the flat list of today's files, and of the nested one of old ones."""
    try:
        document = decode_plain(source.content, limit=MAX_LOCK)
    except JsonError:
        return
    lines: dict[str, int] = {}
    for number, line in enumerate(source.content.split(b"\n"), start=1):
        if match := _KEY.match(line[:1_000]):
            lines.setdefault(match[1].decode("utf-8", "replace"), number)
    document = _table(document)
    packages = document.get("packages")
    queue = [packages if isinstance(packages, dict) else document.get("dependencies")]
    while queue:
        for path, value in _table(queue.pop()).items():
            entry = _table(value)
            version = string(entry.get("version"))
            name = string(entry.get("name")) or path.rpartition("node_modules/")[2]
            is_here = (packages is not None and "node_modules/" not in path) or entry.get("link") is True
            is_fork = string(entry.get("resolved")).startswith(("git", "file:"))
            alias = _SPECIFIER.fullmatch(version)
            if alias:
                yield Pin(alias[1], alias[2], lines.get(path, 1))
            elif not (is_here or is_fork) and re.fullmatch(_VERSION, version) and re.fullmatch(_NAME, name):
                yield Pin(name, version, lines.get(path, 1))
            if packages is None:
                queue.append(entry.get("dependencies"))


def _yarn(source: SourceFile) -> Iterator[Pin]:
    name, start = "", 1
    for number, line in enumerate(_lines(source), start=1):
        if not line.startswith((" ", "#")):
            entry = None if _ELSEWHERE_IN_YARN.search(line) else _YARN_ENTRY.match(line)
            name, start = (entry[2] or entry[1], number) if entry is not None and line.endswith(":") else ("", number)
        elif name and (version := _YARN_VERSION.match(line)) is not None:
            yield Pin(name, version[1], start)
            name = ""


def _pnpm(source: SourceFile) -> Iterator[Pin]:
    within, known = False, set[tuple[str, str]]()
    for number, line in enumerate(_lines(source), start=1):
        if line and not line.startswith((" ", "#")):
            within = line.rstrip() in ("packages:", "snapshots:")
        entry = _PNPM_ENTRY.match(line) if within else None
        if entry is not None and (entry[1], entry[2]) not in known:
            known.add((entry[1], entry[2]))
            yield Pin(entry[1], entry[2], number)


def _named(pattern: re.Pattern[str], source: SourceFile) -> Iterator[Pin]:
    for number, line in enumerate(_lines(source), start=1):
        yield from (Pin(match[1], match[2], number) for match in pattern.finditer(line))


def _deno_lock(source: SourceFile) -> Iterator[Pin]:
    within = False
    for number, line in enumerate(_lines(source), start=1):
        if re.match(r'\s{1,8}"(?:npm|jsr|redirects|remote|workspace|specifiers)": \{', line):
            within = '"npm"' in line
        elif within and (entry := _DENO.match(line)):
            yield Pin(entry[1], entry[2], number)


def _lines(source: SourceFile) -> Iterator[str]:
    for line in source.content.split(b"\n"):
        yield line[:1_000].decode("utf-8", "replace").rstrip("\r")


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


READERS: Final[dict[str, Callable[[SourceFile], Iterator[Pin]]]] = {
    "package.json": _package_json,
    "package-lock.json": _package_lock,
    "npm-shrinkwrap.json": _package_lock,
    "yarn.lock": _yarn,
    "pnpm-lock.yaml": _pnpm,
    "bun.lock": partial(_named, _BUN),
    "deno.lock": _deno_lock,
    **dict.fromkeys(("deno.json", "deno.jsonc", "import_map.json"), partial(_named, _SPECIFIER)),
}

# -- libraries that mean a use -----------------------------------------------------------------------------------------

_PYTHON_IMPORT: Final = re.compile(
    r"^\s{0,80}(?:from\s+([A-Za-z_][\w.]{0,100})\s+import\b|import\s+([A-Za-z_][\w., ]{0,200}))"
)
_SCRIPT_IMPORT: Final = re.compile(r"(?:\bfrom|\bimport|\brequire\()\s{0,3}[\"']([@\w./-]{1,120})[\"']")


@cache
def _libraries() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the capabilities that an import means, by language and module."""
    data = rules_of("libraries")
    table: dict[str, dict[str, tuple[str, ...]]] = {}
    for language, capabilities in data.items():
        known = table.setdefault(language, {})
        for capability, names in capabilities.items():
            for name in names.split():
                known[name] = (*known.get(name, ()), capability)
    return table


def _library_uses(source: SourceFile) -> Iterator[Use]:
    """Yield a use without a pattern for each import of a library that means one, at its first line."""
    language = {"python": "python", "": ""}.get(source.language, "javascript")
    known = _libraries().get(language, {})
    reported: set[str] = set()
    for number, line in enumerate(source.lines if known else (), start=1):
        if "import" not in line and "require" not in line:
            continue
        names = [match[1] for match in _SCRIPT_IMPORT.finditer(line)]
        if language == "python":
            match = _PYTHON_IMPORT.match(line)
            names = [part.split()[0] for part in (match[1] or match[2]).split(",") if part.split()] if match else []
        for name in names:
            means = known.get(name) or known.get(name.partition(".")[0]) or ()
            yield from (Use(capability, source.place(number)) for capability in means if capability not in reported)
            reported.update(means)


# -- packages that are not what they seem ------------------------------------------------------------------------------


@cache
def _popular() -> dict[str, frozenset[str]]:
    """Return the names that others imitate, by ecosystem."""
    data = json.loads(files(__package__).joinpath("rules/popular.json").read_text("utf-8"))
    return {ecosystem: frozenset(" ".join(names).split()) for ecosystem, names in data.items()}


def _strangers(source: SourceFile) -> Iterator[Finding]:
    """Yield entries that may bring a stranger's package: look-alikes, addresses, commands in place of known ones."""
    ecosystem = "npm" if source.name in READERS else "PyPI"
    for pin in pins_of(source):
        likeness = _imitated(pin.package, ecosystem)
        if likeness:
            text = f"{pin.package[:214]} is spelled almost like {likeness}, which many use: it may be a stranger's."
            yield new_finding("excessive_capability", "high", source.place(pin.line), text, pin.package)
        elif not pin.version and source.suffix == "txt":
            yield _unpinned(source, pin.package, pin.line)
    if source.name == "package.json":
        yield from _strangers_of_package(source)
    elif ecosystem == "npm":
        for number, line in enumerate(_lines(source), start=1):
            match = _RESOLVED.search(line)
            if match and not _REGISTRIES.search(match[1] or match[2]):
                text = "A package of the lock file comes from another host than the registry."
                yield new_finding("excessive_capability", "high", source.place(number), text, match[1] or match[2])
                break


def _strangers_in_commands(source: SourceFile, declared: set[str]) -> Iterator[Finding]:
    """Yield the packages with names that imitate others, of commands and imports in any text."""
    if source.unread or source.suffix in ("lock", "map"):
        return
    reported: set[str] = set()
    for match in _INSTALLS.finditer(source.text):
        ecosystem = "PyPI" if match[1] else "npm"
        for word in match[2].split()[:20]:
            name = _BARE.match(word.strip("\"'`,"))
            bare = canonicalize_name(name[0]) if name and match[1] else name[0].lower() if name else ""
            likeness = _imitated(bare, ecosystem) if name and bare not in declared and name[0] not in reported else ""
            if name and likeness:
                reported.add(name[0])
                text = f"{name[0][:214]} is spelled almost like {likeness}, which many use: it may be a stranger's."
                place = source.place(source.line_at(match.start()))
                yield new_finding("excessive_capability", "high", place, text, name[0])


def _strangers_of_package(source: SourceFile) -> Iterator[Finding]:
    document = read_object(source)
    if document is None:
        text = "package.json is not a JSON object, repeats a key, or is larger than what is read."
        yield new_finding("other", "medium", source.place(), text, source.path)
        return
    for name, wanted, line in _wanted(source):
        if _ELSEWHERE.match(wanted):
            text = f"{name[:214]} comes from an address, not from the registry: anybody there may change it."
            yield new_finding("excessive_capability", "high", source.place(line), text, name)
        elif wanted in ("", "*", "x", "latest", "next"):
            yield _unpinned(source, name, line)
    for name in sorted(_table(document.get("bin")).keys() & _COMMANDS):
        text = f"The package puts itself on the path in place of `{name}`."
        place = source.place(line_of(source, name, line_of(source, "bin")))
        yield new_finding("excessive_capability", "high", place, text, source.path)


def _unpinned(source: SourceFile, name: str, line: int) -> Finding:
    text = f"{name[:214]} is not pinned: another version may be installed than was looked at."
    return new_finding("other", "low", source.place(line), text, name)


def _imitated(name: str, ecosystem: str) -> str:
    """Return the popular package whose name is one slip of the hand away; empty if there is none."""
    popular = _popular()[ecosystem]
    parts = {name, *(part for part in name.split("-") if len(part) >= _SHORTEST_PART)}
    for part in sorted(parts - popular):
        near = (one for one in sorted(popular) if min(len(one), len(part)) >= _SHORTEST)
        likeness = next((one for one in near if OSA.distance(part, one, score_cutoff=1) == 1), "")
        if likeness and name not in popular | _PROGRAMS:
            return likeness
    return ""
