"""The bundle's own manifest.json: what it declares, held against what the analysis saw."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from miner.analysis.result import Use, found
from miner.analysis.source import SourceFile, line_of, read_object, string
from validator.protocol import vocabulary as cap
from validator.protocol.skill_types import SkillType, is_runtime
from validator.protocol.sssa import Finding
from validator.protocol.text import printable

FILE_NAME = "manifest.json"
_SEVERE = frozenset({"high", "critical"})


class Manifest(NamedTuple):
    """What the manifest declares.

    Attributes:
        source: the file; None when the bundle has none.
        readable: whether it is a JSON object.
        skill_type: as declared, empty if not.
        runnable: whether it names an entry point.
        capabilities: as declared.
    """

    source: SourceFile | None
    readable: bool = False
    skill_type: str = ""
    runnable: bool = False
    capabilities: tuple[str, ...] = ()


def read_manifest(sources: dict[str, SourceFile]) -> Manifest:
    """Return the manifest of the bundle whose files are `sources`."""
    source = sources.get(FILE_NAME)
    if source is None:
        return Manifest(None)
    document = read_object(source)
    if document is None:
        return Manifest(source)
    declared = document.get("capabilities")
    names = tuple(name for name in declared if isinstance(name, str)) if isinstance(declared, list) else ()
    return Manifest(source, True, string(document.get("skill_type")), bool(string(document.get("entry_point"))), names)


def manifest_findings(
    manifest: Manifest, skill_type: SkillType, uses: tuple[Use, ...], known: Iterable[Finding]
) -> Iterator[Finding]:
    """Yield what is wrong with the declaration: unreadable, another type, powers used in silence or asked for idly.

    Where something severe is known of the bundle, that a use was not declared says nothing more.
    """
    source = manifest.source
    if source is None:
        return
    if not manifest.readable:
        yield found("other", "low", source.place(), "The manifest is not a JSON object.", source.path)
        return
    if manifest.skill_type and manifest.skill_type != skill_type:
        place = source.place(line_of(source, manifest.skill_type))
        yield found("other", "medium", place, f"The manifest says {printable(manifest.skill_type, 60)}.", source.path)
    declared = frozenset(manifest.capabilities)
    if not is_runtime(skill_type):
        for name in sorted(declared & cap.POWERFUL):
            place = source.place(line_of(source, name))
            yield found("excessive_capability", "medium", place, f"A document asks for {name}.", source.path)
    elif manifest.runnable and all(finding.severity not in _SEVERE for finding in known):
        first_use = {use.capability: use for use in reversed(uses)}
        for name in sorted((first_use.keys() & cap.POWERFUL) - declared):
            place = first_use[name].place
            yield found("excessive_capability", "low", place, f"{name} is used but not declared.", source.path)
