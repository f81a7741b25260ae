"""Which of the files that were found enter a bundle: the smallest first, as far as the limits of SPEC 13 go."""

import unicodedata
from collections.abc import Iterable, Mapping

from validator.protocol import limits
from validator.protocol.archives import ArchiveError, pack
from validator.protocol.bundles import read_bundle
from validator.protocol.nfc import nfc
from validator.protocol.text import printable
from validator.tasks.collecting import Candidate, Collection


def admit(collection: Collection) -> dict[str, bytes]:
    """Return the files that can stand in a bundle, by their names there; the collection notes the others.

    Raises:
        TaskError: a file cannot be read.
    """
    named = _named(collection)
    names = _without_clashes(collection, named)
    files: dict[str, bytes] = {}
    left = limits.MAX_BUNDLE_EXPANDED
    for name in sorted(names, key=lambda name: (named[name].size, name)):
        size = named[name].size
        if size > limits.MAX_BUNDLE_FILE:
            collection.leave_out(name, f"{size} bytes, at most {limits.MAX_BUNDLE_FILE} in a file")
        elif size > left:
            collection.leave_out(name, f"{size} bytes, over the {limits.MAX_BUNDLE_EXPANDED} of a bundle")
        elif len(files) >= limits.MAX_BUNDLE_ENTRIES:
            collection.leave_out(name, f"more than {limits.MAX_BUNDLE_ENTRIES} files")
        else:
            files[name] = content = named[name].read()
            left -= len(content)
    return files


def squeeze(files: Mapping[str, bytes], keep: Iterable[str], collection: Collection) -> tuple[dict[str, bytes], bytes]:
    """Return as many of the files as fit a bundle, smallest first, and the bundle.

    Args:
        files: what should be in it.
        keep: names that are taken before all others.
        collection: notes what was left out.
    """
    first = frozenset(keep)
    order = sorted(files, key=lambda name: (name not in first, len(files[name]), name))
    bundle = _packed(files, order)
    low, high = 0, len(order)  # the first `low` fit, the first `high` do not
    if bundle is not None:
        low = high
    best = pack({})
    while high - low > 1:
        middle = (low + high) // 2
        attempt = _packed(files, order[:middle])
        low, high, best = (low, middle, best) if attempt is None else (middle, high, attempt)
    for name in order[low:]:
        collection.leave_out(name, f"{len(files[name])} bytes, too much for the bundle once compressed")
    return {name: files[name] for name in sorted(order[:low])}, best if bundle is None else bundle


def clean_name(name: str) -> str | None:
    """Return the name as it can stand in a bundle (relative, NFC), None if it cannot."""
    text = nfc(name)
    segments = [segment for segment in text.split("/") if segment not in ("", ".")]
    bad = (
        text.startswith("/")
        or not segments
        or ".." in segments
        or "\\" in text
        or any(unicodedata.category(c) in ("Cc", "Cs") for c in text)
    )
    return None if bad else "/".join(segments)


def _packed(files: Mapping[str, bytes], names: Iterable[str]) -> bytes | None:
    """Return the bundle of these files, None if it would be refused."""
    bundle = pack({name: files[name] for name in names})
    try:
        read_bundle(bundle)
    except ArchiveError:
        return None
    return bundle


def _named(collection: Collection) -> dict[str, Candidate]:
    named: dict[str, Candidate] = {}
    for candidate in sorted(collection.files, key=lambda candidate: candidate.name):
        name = clean_name(candidate.name)
        if name is None:
            collection.leave_out(candidate.name, "not a plain relative name")
        elif name in named:
            collection.leave_out(candidate.name, "there twice")
        else:
            named[name] = candidate
            if name != candidate.name:
                collection.notes.append(f"one name was normalised: `{printable(name)}`")
    _note_cases(collection, named)
    return named


def _note_cases(collection: Collection, named: Iterable[str]) -> None:
    """Note names that are one where a file system does not tell upper from lower case: both stay."""
    first: dict[str, str] = {}
    for name in named:
        if (other := first.setdefault(name.casefold(), name)) != name:
            collection.notes.append(f"`{printable(other)}` and `{printable(name)}` differ in case only")


def _without_clashes(collection: Collection, named: Mapping[str, Candidate]) -> list[str]:
    """Return the names that are not at once a folder of others (a zip can hold both)."""
    folders = {name[:i] for name in named for i, c in enumerate(name) if c == "/"}
    for name in sorted(folders & named.keys()):
        collection.leave_out(name, "a folder has the same name")
    return [name for name in named if name not in folders]
