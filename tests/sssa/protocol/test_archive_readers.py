"""Tools extract from an archive what was judged, or the archive is refused (SPEC 13, D-46)."""

import base64
import gzip
import json
import random
import re
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
from archive_forms import FORMS, READERS, SOUND, extracted, is_installed, mutated_tar, mutated_zip, reads, suffix_of

from miner.bundles.written import written_bundles
from sssa.protocol import limits
from sssa.protocol.archives import ArchiveError, check_names, pack, pack_tar, plain_name
from sssa.protocol.bundles import read_bundle
from sssa.protocol.skill_types import ASSESSED_TYPES
from sssa.protocol.strict_archives import read_archive
from sssa.sources import SeededRandom
from taskmaker.canary import make_canary

SEED, MUTATED = 43, 1_000
PAGE = Path("docs/archives.md")


def judged(data: bytes) -> dict[str, bytes] | None:
    """The files that are judged, None where the archive is refused."""
    try:
        return read_archive(data, expanded=limits.MIB, entries=100)
    except ArchiveError as error:
        assert str(error).isprintable()
        return None


@cache
def mutated() -> list[bytes]:
    rng = random.Random(SEED)
    return [(mutated_zip if number % 2 else mutated_tar)(rng) for number in range(MUTATED)]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_two_readers_read_differently_is_refused(form: str) -> None:
    assert judged(FORMS[form]) is None
    with pytest.raises(ArchiveError, match="validator tasks pack"):
        read_bundle(FORMS[form])
    assert f"\n| {form} |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("reader", READERS)
def test_whatever_a_tool_extracts_was_judged(reader: str, tmp_path: Path) -> None:
    if not is_installed(reader):
        pytest.skip(f"{reader} is not installed: apt-get install libarchive-tools unzip npm")
    found = [data for data in (*SOUND.values(), *mutated()) if reads(reader, data) and judged(data) is not None]
    assert len(found) > 40
    for data, files in zip(found, extracted(reader, found, tmp_path), strict=True):
        assert files == judged(data), sha256(data).hexdigest()


def test_a_bundle_is_canonical_or_refused() -> None:
    for name, data in SOUND.items():
        if name == "a canonical bundle":
            assert read_bundle(data) == judged(data)
            continue
        with pytest.raises(ArchiveError, match="validator tasks pack"):
            read_bundle(data if suffix_of(data) == ".tgz" else gzip.compress(data))
    raw = pack_tar({"b": b"1", "a": b"2"})
    for other in (raw + bytes(10_240), raw[:-512], raw[512:1024] + raw[:512] + raw[1024:], raw.replace(b"644", b"755")):
        with pytest.raises(ArchiveError):
            read_bundle(gzip.compress(other))


def test_all_bundles_that_are_made_here_are_canonical() -> None:
    goldens = [json.loads(file.read_bytes()) for file in Path("tests/golden").glob("assessment-*.json")]
    bundles = [base64.b64decode(encoded) for encoded in re.findall(r"\bH4sI[\w+/=]{99,}", json.dumps(goldens))]
    assert len(bundles) >= 2
    bundles += [one.packed() for one in written_bundles()]
    bundles += [make_canary(kind, SeededRandom(f"{n}")).bundle for kind in ASSESSED_TYPES for n in range(9)]
    for data in bundles:
        assert pack_tar(read_bundle(data)) == gzip.decompress(data)


@pytest.mark.parametrize(
    "name", ["c:x", "a\u202eb", "a\u00adb", "\ufeffa", "a\u2029", "\U000e0041", "a\x85", "u\u0308", "a/../b"]
)
def test_names_that_show_otherwise_than_they_are_are_refused(name: str) -> None:
    with pytest.raises(ArchiveError, match="not a plain relative NFC name"):
        plain_name(name)


@pytest.mark.parametrize(
    "names", [("a", "A"), ("é", "É"), ("ß", "SS"), ("a/b", "A/B"), ("a", "A/b"), ("\u01f0", "J\u030c"), ("\u017f", "s")]
)
def test_two_names_that_are_one_on_some_file_system_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(ArchiveError):
        check_names(names)
    check_names(("a/b", "A/c", "aa"))


def test_cost_is_bounded_before_anything_expands() -> None:
    bomb = gzip.compress(bytes(32 * limits.MIB))
    for data, message in (
        (bomb, "expands"),
        (pack({str(n): b"" for n in range(101)}), "entries"),
        (SOUND["a zip"], "size"),
    ):
        with pytest.raises(ArchiveError, match=message):
            read_archive(data, expanded=limits.MIB if message == "entries" else 30, entries=100)


OTHER_PYTHON = """
import sys, json, hashlib
from sssa.protocol.archives import pack_tar
for line in sys.stdin:
    print(hashlib.sha256(pack_tar({k: bytes.fromhex(v) for k, v in json.loads(line).items()})).hexdigest())
"""


def _other_pythons() -> list[str]:
    """Other Pythons of 3.11 and later on this machine."""
    found = [*Path.home().glob(".pyenv/versions/3.*/bin/python"), *Path("/usr/bin").glob("python3.1[0-9]")]
    return [str(one) for one in found if one.resolve() != Path(sys.executable).resolve()]


def test_every_python_packs_the_same_tar() -> None:
    rng = random.Random(SEED)

    def name() -> str:
        return "/".join(
            "".join(rng.choice("abcAB-_. é日\U0001f600") for _ in range(rng.choice([1, 9, 99, 100, 101, 160])))
            for _ in range(rng.randint(1, 3))
        )

    sets = [
        {name(): rng.randbytes(rng.choice([0, 1, 511, 512, 9_000])) for _ in range(rng.randrange(9))}
        for _ in range(200)
    ]
    lines = "\n".join(json.dumps({key: value.hex() for key, value in files.items()}) for files in sets)
    expected = [sha256(pack_tar(files)).hexdigest() for files in sets]
    compared = set[str]()
    for python in _other_pythons():
        asked = "import sys; assert sys.version_info >= (3, 11); print(sys.version)"
        version = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False).stdout
        if version and version != sys.version + "\n":
            done = subprocess.run([python, "-c", OTHER_PYTHON], input=lines, capture_output=True, text=True, check=True)
            assert done.stdout.split() == expected, version
            compared.add(version)
    if not compared:
        pytest.skip("no other Python of 3.11 or later is installed here")
