"""Archive files that are damaged, forged, cut, somebody else's or of other tables: refused by name, nothing is lost."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from old_rounds import ARCHIVED, archived, log_of, opened, put
from recorded import dispatched
from world import VALIDATOR

from validator.protocol.canonical import canonical_bytes
from validator.protocol.signatures import Signer
from validator.store.archive import (
    MAGIC,
    TAIL,
    Manifest,
    open_archive,
    read_manifest,
)
from validator.store.checking import checks
from validator.store.errors import ArchiveError

MALLORY = Signer.from_uri("//Mallory")
Spoil = Callable[[Path], object]


@pytest.fixture(scope="module")
def shelved(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store whose old rounds are in files next to it."""
    folder = tmp_path_factory.mktemp("shelved")
    (folder / "archive").mkdir()
    asyncio.run(archived(put(played, f"sqlite:///{folder}/store.sqlite"), folder / "archive"))
    return folder


@pytest.fixture
def own(shelved: Path, tmp_path: Path) -> Path:
    return shutil.copytree(shelved, tmp_path / "own")


def first(folder: Path) -> Path:
    return min((folder / "archive").iterdir())


def manifest_of(data: bytes) -> tuple[Manifest, bytes]:
    """The manifest of a file, and the part before it."""
    length = int.from_bytes(data[-TAIL : -TAIL + 8], "big")
    return read_manifest(data[-TAIL - length : -TAIL]), data[: -TAIL - length]


def written(path: Path, sections: bytes, manifest: Manifest) -> None:
    data = canonical_bytes(manifest)
    path.write_bytes(sections + data + len(data).to_bytes(8, "big") + MAGIC)


def flipped(at: float) -> Spoil:
    def spoil(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(at * len(data)) if at < 1 else -int(at)] ^= 1
        path.write_bytes(data)

    return spoil


def signed_by(signer: Signer | None) -> Spoil:
    """A manifest that says something else, signed by nobody or by somebody."""

    def spoil(path: Path) -> None:
        manifest, sections = manifest_of(path.read_bytes())
        if signer is None:
            written(path, sections, msgspec.structs.replace(manifest, netuid=77))
        else:
            written(
                path, sections, signer.sign_document(msgspec.structs.replace(manifest, validator_hotkey=signer.hotkey))
            )

    return spoil


def of_other_rounds(path: Path) -> None:
    path.write_bytes(sorted(path.parent.iterdir())[1].read_bytes())


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def padded(path: Path) -> None:
    manifest, sections = manifest_of(path.read_bytes())
    written(path, sections + b"junk", manifest)


SPOILT: list[tuple[Spoil, str]] = [
    (Path.unlink, "is not there; put it back, or name the folder that has it in store.archive"),
    (lambda path: path.write_bytes(b""), "is no archive file: it does not begin as one"),
    (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(100)), "is no archive file"),
    (lambda path: path.write_bytes(path.read_bytes()[:-1]), "is cut short"),
    (lambda path: path.write_bytes(path.read_bytes()[:5000]), "is cut short"),
    (flipped(0.3), "is damaged: a frame does not have the digest that was signed"),
    (flipped(TAIL), "is damaged: its manifest would have"),
    (flipped(TAIL + 40), "was changed: its manifest does not have the signature of whom it names"),
    (signed_by(None), "was changed: its manifest does not have the signature of whom it names"),
    (signed_by(MALLORY), "is not the file that the store names: another of that name"),
    (padded, "is damaged: it has"),
    (of_other_rounds, "is not the file that the store names: another of that name"),
    (folder_instead, "cannot be read: Is a directory"),
]


@pytest.mark.parametrize(("spoil", "said"), SPOILT)
async def test_a_file_that_is_not_what_the_store_knows_is_refused_by_name(own: Path, spoil: Spoil, said: str) -> None:
    path, url = first(own), f"sqlite:///{own}/store.sqlite"
    spoil(path)
    with pytest.raises(ArchiveError) as refused:
        await log_of(url, own / "archive")
    assert refused.value.detail.startswith(f"{path} {said}")
    async with opened(url, own / "archive") as store, store.read() as tx:
        assert await tx.rounds.get(ARCHIVED) is not None
        found = {check.name: check.faults async for check in checks(tx, own / "archive")}
    assert found["archives"] == [refused.value.detail]
    assert [faults for name, faults in found.items() if name != "archives"] == [[]] * 6


async def test_files_that_the_store_does_not_know_are_named(own: Path) -> None:
    copy = first(own).with_name("rounds-0000000000-0000000001.archive")
    shutil.copy(first(own), copy)
    async with opened(f"sqlite:///{own}/store.sqlite", own / "archive") as store, store.read() as tx:
        found = {check.name: check.faults async for check in checks(tx, own / "archive")}
    assert found["archives"] == [f"{copy} is no file that the store knows: left by a run that was killed, or a copy"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (flipped(0.3), "is damaged: a frame does not have the digest that was signed"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "is cut short"),
        (signed_by(MALLORY), f"is of the validator {MALLORY.hotkey}; move it away"),
        (of_other_rounds, "holds other rounds than its name says; move it away"),
        (
            lambda path: shutil.copy(path, path.with_name("rounds-0000000000-0000000001.archive")),
            "holds rounds that rounds-0000000000-0000000001.archive holds as well; move the wrong one away",
        ),
    ],
)
async def test_a_file_that_was_left_is_not_taken_for_the_rounds_of_a_store_unless_it_is(
    own: Path, played: Path, tmp_path: Path, spoil: Spoil, said: str
) -> None:
    url = put(played, f"sqlite:///{tmp_path}/store.sqlite")
    log, path = await log_of(url), first(own)
    spoil(path)
    with pytest.raises(ArchiveError) as refused:
        await archived(url, own / "archive")
    assert refused.value.detail.startswith(f"{path} {said}")
    assert await log_of(url) == log


async def test_a_file_of_another_history_is_not_taken(own: Path, played: Path, tmp_path: Path) -> None:
    url = put(played, f"sqlite:///{tmp_path}/store.sqlite")
    async with opened(url) as store, store.begin() as tx:
        await dispatched(detail="otherwise", round_id=2)(tx)
    log = await log_of(url)
    with pytest.raises(ArchiveError) as refused:
        await archived(url, own / "archive")
    said = "does not have what the store has of round 2; move it away"
    assert refused.value.detail == f"{first(own)} {said}"
    assert await log_of(url) == log


async def test_only_the_hotkey_of_the_log_may_archive(played: Path, tmp_path: Path) -> None:
    url = put(played, f"sqlite:///{tmp_path}/store.sqlite")
    with pytest.raises(ArchiveError, match=f"log is of {VALIDATOR.hotkey}, the wallet's hotkey is {MALLORY.hotkey}"):
        await archived(url, tmp_path, signer=MALLORY)


async def test_a_manifest_without_a_record_of_each_round_is_refused(own: Path) -> None:
    manifest, sections = manifest_of(first(own).read_bytes())
    fewer = msgspec.structs.replace(manifest, last_round=manifest.last_round + 1)
    written(first(own), sections, VALIDATOR.sign_document(fewer))
    with pytest.raises(ArchiveError, match="its records are not those of its rounds"):
        open_archive(first(own))
