"""Advisories in the form of OSV: a shipped sample, or an export of osv.dev in a folder, a zip or one JSON file."""

import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from msgspec import Struct
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from sssa.protocol import limits
from sssa.protocol.sssa import Severity
from sssa.protocol.strict_json import JsonError, decode
from sssa.protocol.text import printable
from validator.tasks.folder import folders, label, read_bounded
from validator.tasks.source import TaskError

Ecosystem = Literal["PyPI", "npm"]
Kind = Literal["introduced", "fixed", "last_affected"]
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_MAX: Final = 128  # characters of a version
_SEMVER: Final = re.compile(
    r"[v=\s]{0,4}(\d{1,18})(?:\.(\d{1,18}))?(?:\.(\d{1,18}))?(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]{0,100})?"
)


def key_of(ecosystem: Ecosystem, version: str) -> Any:
    """Return what orders the version among those of its ecosystem, None for what is no version."""
    if len(version) > _MAX:
        return None
    if ecosystem == "npm":
        return _semver(version)
    try:
        return Version(version)
    except InvalidVersion:
        return None


def in_range(ecosystem: Ecosystem, version: str, events: Iterable[tuple[Kind, str]]) -> bool:
    """Return whether the events of a range leave the version affected; False if one of them is no version.

    An `introduced` of "0" comes before all versions.
    """
    wanted = key_of(ecosystem, version)
    ordered = [(key_of(ecosystem, at), kind) for kind, at in events]
    if wanted is None or any(key is None for key, _ in ordered):
        return False
    affected = False
    for key, kind in sorted(ordered, key=lambda event: (event[0], _KINDS.index(event[1]))):
        if kind == "introduced" and wanted >= key:
            affected = True
        elif (kind == "fixed" and wanted >= key) or (kind == "last_affected" and wanted > key):
            affected = False
    return affected


def _semver(version: str) -> tuple[Any, ...] | None:
    match = _SEMVER.fullmatch(version)
    if match is None:
        return None
    numbers = tuple(int(part or 0) for part in match.group(1, 2, 3))
    # A version comes after its own prereleases, and numbers among their parts before words (semver 2.0, 11).
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in (match[4] or "").split("."))
    return (*numbers, 0, parts) if match[4] else (*numbers, 1, ())


class Pinned(NamedTuple):
    """A package at one version, and the first place that says so."""

    ecosystem: Ecosystem
    package: str
    version: str
    place: str

    @property
    def url(self) -> str:
        """The package URL, as findings name it."""
        kind = "pypi" if self.ecosystem == "PyPI" else "npm"
        return f"pkg:{kind}/{self.package.replace('@', '%40', 1)}@{self.version}"


MAX_ADVISORY: Final = 4 * 1024 * 1024  # bytes of one
_AFFECTED: Final = b'"affected"'
_NAME: Final = re.compile(rb'"name"\s{0,64}:\s{0,64}"((?:[^"\\]|\\.){1,300})"')
_CVE: Final = re.compile(r"CVE-[0-9]{4}-[0-9]{4,}", re.ASCII)
_GHSA: Final = re.compile(r"GHSA(-[0-9a-z]{4}){3}", re.ASCII)
_MOST_ALIASES: Final = 4  # of one vulnerability that a finding names (SPEC 17, D-38)
_SEVERITIES: Final[dict[str, Severity]] = {
    "LOW": "low",
    "MODERATE": "medium",
    "MEDIUM": "medium",
    "HIGH": "high",
    "CRITICAL": "critical",
}


class Advisory(NamedTuple):
    """Known vulnerability of a package's version.

    Attributes:
        id: a CVE's where there is one, else GitHub's, else that of the database.
        nameable: its aliases that an attestation can name (SPEC 2): at most four.
        severity: as the database grades it; None if it does not.
        summary: one harmless line, may be empty.
    """

    id: str
    severity: Severity | None
    summary: str
    nameable: tuple[str, ...] = ()
    is_malware: bool = False

    def also(self, known: "Advisory | None") -> "Advisory":
        """Return this one after what another database says of the same hole."""
        if known is None:
            return self
        both = tuple(sorted({*self.nameable, *known.nameable})[:_MOST_ALIASES])
        severity, summary = known.severity or self.severity, known.summary or self.summary
        return Advisory(self.id, severity, summary, both, self.is_malware or known.is_malware)


class Advisories(NamedTuple):
    """Vulnerabilities in an export, for the packages that were asked for.

    Attributes:
        of: those of each package, by id.
        read: how many documents were looked at.
        unread: how many could not be read, or are no advisories of packages.
    """

    of: dict[Pinned, tuple[Advisory, ...]]
    read: int
    unread: int


class _Package(Struct):
    ecosystem: str
    name: str


class _Event(Struct):
    introduced: str | None = None
    fixed: str | None = None
    last_affected: str | None = None


class _Range(Struct):
    type: str
    events: list[_Event]


class _Affected(Struct):
    package: _Package | None = None
    ranges: list[_Range] | None = None
    versions: list[str] | None = None


class _Graded(Struct):
    severity: str | None = None


class _Osv(Struct):
    id: str
    aliases: list[str] | None = None
    summary: str | None = None
    withdrawn: str | None = None
    affected: list[_Affected] | None = None
    database_specific: _Graded | None = None


def advisories_for(documents: Iterable[bytes | None], pinned: Collection[Pinned]) -> Advisories:
    """Return what the documents say of the packages.

    Args:
        documents: JSON, each at most `MAX_ADVISORY` bytes; None for one that could not be read.
        pinned: what is asked for.
    """
    by_name: defaultdict[tuple[str, str], list[Pinned]] = defaultdict(list)
    for one in pinned:
        by_name[one.ecosystem, _normal(one.ecosystem, one.package)].append(one)
    names = {name for _, name in by_name}
    matches: defaultdict[Pinned, dict[str, Advisory]] = defaultdict(dict)
    read = unread = 0
    for document in documents:
        read += 1
        if document is None or _AFFECTED not in document:
            unread += 1
        elif not names.isdisjoint(_names_in(document)):
            try:
                osv = decode(document, _Osv, limit=MAX_ADVISORY)
            except JsonError:
                unread += 1
                continue
            for one, advisory in _matches(osv, by_name):
                matches[one][advisory.id] = advisory.also(matches[one].get(advisory.id))
    return Advisories({one: tuple(matches[one][key] for key in sorted(matches[one])) for one in matches}, read, unread)


@cache
def _sample() -> tuple[bytes, ...]:
    return tuple(files(__package__).joinpath("rules/advisories.jsonl").read_bytes().splitlines())


def shipped_for(pinned: Collection[Pinned]) -> dict[Pinned, tuple[Advisory, ...]]:
    """Return what the shipped sample says of the packages: widely used ones, real ids and ranges, no database."""
    return advisories_for(_sample(), pinned).of


def _names_in(document: bytes) -> set[str]:
    """Return the names in the document, in both ecosystems' forms: most advisories are told by them to be of others."""
    names = {name.decode("utf-8", "replace") for name in _NAME.findall(document)}
    return names | {canonicalize_name(name) for name in names}


def _matches(osv: _Osv, by_name: dict[tuple[str, str], list[Pinned]]) -> Iterator[tuple[Pinned, Advisory]]:
    if osv.withdrawn is not None:
        return
    advisory = _advisory(osv)
    for entry in osv.affected or ():
        package = entry.package
        if package is None or package.ecosystem not in ("PyPI", "npm"):
            continue
        ecosystem = cast("Ecosystem", package.ecosystem)
        for one in by_name.get((ecosystem, _normal(ecosystem, package.name)), ()):
            if _affects(entry, one):
                yield one, advisory


def _affects(entry: _Affected, one: Pinned) -> bool:
    if one.version in (entry.versions or ()):
        return True
    ranges = [each for each in entry.ranges or () if each.type in ("SEMVER", "ECOSYSTEM")]
    return any(in_range(one.ecosystem, one.version, _events(each)) for each in ranges)


def _events(one: _Range) -> Iterator[tuple[Kind, str]]:
    for event in one.events:
        yield from ((kind, at) for kind in _KINDS if (at := getattr(event, kind)) is not None)


def _advisory(osv: _Osv) -> Advisory:
    ids = sorted({osv.id, *(osv.aliases or ())})
    nameable = [one for form in (_CVE, _GHSA) for one in ids if form.fullmatch(one)][:_MOST_ALIASES]
    graded = osv.database_specific.severity if osv.database_specific else None
    severity, summary = _SEVERITIES.get((graded or "").upper()), printable(osv.summary or "", 200)
    name = printable(next(iter(nameable), osv.id), 64)
    return Advisory(name, severity, summary, tuple(sorted(nameable)), any(one.startswith("MAL-") for one in ids))


def _normal(ecosystem: Ecosystem, name: str) -> str:
    return canonicalize_name(name) if ecosystem == "PyPI" else name


MAX_TOTAL: Final = 4096 * limits.MIB  # bytes that are read of all exports
_PLAIN: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others inflate without a bound


def documents_in(paths: Sequence[Path]) -> Iterator[bytes | None]:
    """Yield the JSON files of the exports; None for one that cannot be read, is larger than an advisory or a link.

    Raises:
        TaskError: there is no such export, or it is larger than one that would be read.
    """
    left = MAX_TOTAL
    for path in paths:
        if not path.is_dir() and path.suffix not in (".json", ".zip"):
            raise TaskError(f"`{label(path)}` is no folder, no zip and no JSON file of advisories - at `--advisories`")
        if not path.exists():
            raise TaskError(f"`{label(path)}` is not there - at `--advisories`")
        for document in _documents(path, follow=True):
            left -= len(document or b"")
            if left < 0:
                raise TaskError(f"`{label(path)}`: more than {MAX_TOTAL} bytes of advisories")
            yield document


def _documents(path: Path, *, follow: bool) -> Iterator[bytes | None]:
    if follow and path.is_dir():
        for folder, _, names in folders(path):
            for name in sorted(names):
                yield from _documents(Path(folder, name), follow=False)
    elif path.suffix == ".json":
        try:
            yield read_bounded(path, MAX_ADVISORY, follow=follow)
        except TaskError:
            yield None
    elif path.suffix == ".zip" and (follow or not path.is_symlink()):
        yield from _members(path)


def _members(path: Path) -> Iterator[bytes | None]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = (member for member in archive.infolist() if member.filename.endswith(".json"))
            yield from (_member(archive, member) for member in members)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise TaskError(f"`{label(path)}` is no zip that can be read: {printable(str(error))}") from None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes | None:
    if member.flag_bits & 0x1 or member.compress_type not in _PLAIN:
        return None
    try:
        with archive.open(member) as stream:
            content = stream.read(MAX_ADVISORY + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError):
        return None
    return content if len(content) <= MAX_ADVISORY else None
