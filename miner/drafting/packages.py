"""The packages that a bundle pins, as advisories name them, each with its place."""

from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from miner.analysis import requirements
from miner.analysis.bounds import MAX_PACKAGES, Budget
from miner.analysis.npm import locks
from miner.analysis.npm.package_json import FILE_NAME, read_package
from miner.analysis.source import SourceFile
from miner.drafting.versions import Ecosystem

MAX_PINNED: Final = 8_192


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


def pinned_in(sources: Iterable[SourceFile]) -> tuple[Pinned, ...]:
    """Return what the files pin, those nearest the root first: at most `MAX_PINNED` packages."""
    found: dict[tuple[str, str, str], Pinned] = {}
    files = [one for one in sources if one.name in _NPM or requirements.declares_dependencies(one)]
    for source in sorted(files, key=lambda s: (s.path.count("/"), s.path))[:MAX_PACKAGES]:
        for pin in _pins(source):
            found.setdefault(pin[:3], pin)
    return tuple(islice(found.values(), MAX_PINNED))


_NPM: Final = frozenset({FILE_NAME, *locks.READERS})


def _pins(source: SourceFile) -> list[Pinned]:
    ecosystem: Ecosystem = "npm" if source.name in _NPM else "PyPI"
    if source.name == FILE_NAME:
        pins: Iterable[tuple[str, str, int]] = read_package(source, Budget()).pins
    elif source.name in _NPM:
        pins = locks.pins_of(source) or ()
    else:
        pins = requirements.pins_of(source)
    return [Pinned(ecosystem, name, version, source.place(line)) for name, version, line in pins if version]
