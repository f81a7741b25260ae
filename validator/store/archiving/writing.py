"""Records of the store into a file: whole or not at all, then read back and compared with the store."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, NamedTuple

from validator.files import new_file
from validator.protocol.canonical import sha256_hex
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Signature
from validator.store.archive.file import ArchiveFile, name_of, refused
from validator.store.archive.form import MAGIC, Frame, Manifest, manifest_bytes
from validator.store.transaction import Transaction

_UNSIGNED: Final = "0x" + "0" * 128

Reading = Callable[[], AbstractAsyncContextManager[Transaction]]
Advance = Callable[[], None]


class Rounds(NamedTuple):
    """What goes into one file: the first and the last round."""

    first: int
    last: int


async def write_archive(  # noqa: PLR0913, PLR0917 - what a file is made of
    read: Reading, folder: Path, span: Rounds, signer: Signer, netuid: int | None, advance: Advance
) -> Path:
    """Write a file; nothing is in the folder before it is whole and on the disk.

    Args:
        read: opens a transaction that reads; of rounds that have ended, each has the same.
        folder: of archives.
        span: ended rounds.
        signer: the validator's hotkey.
        netuid: of the rounds.
        advance: called after each round.

    Raises:
        FileExistsError: a file of that name is there.
        OSError: it cannot be written.
        StoreError: the store cannot be read.
    """
    path = folder / name_of(*span)
    records: list[tuple[Frame, ...]] = []
    with new_file(path) as stream:
        stream.write(MAGIC)
        for round_id in range(span.first, span.last + 1):
            frames: list[Frame] = []
            async with read() as tx:
                async for frame in tx.records.frames(round_id):
                    stream.write(frame)
                    frames.append(Frame(len(frame), sha256_hex(frame)))
            records.append(tuple(frames))
            advance()
        manifest = Manifest(
            archive_version="1",
            validator_hotkey=signer.hotkey,
            netuid=netuid,
            first_round=span.first,
            last_round=span.last,
            records=tuple(records),
            signature=Signature(signer.hotkey, "sr25519", _UNSIGNED),
        )
        data = manifest_bytes(signer.sign_document(manifest))
        stream.write(data + len(data).to_bytes(8, "big") + MAGIC)
    return path


async def require_same(read: Reading, found: ArchiveFile, after: int, advance: Advance) -> None:
    """Read a file in whole, and compare it with the records of the store.

    Args:
        read: as for `write_archive`.
        found: the file.
        after: rounds up to this one are in files alone.
        advance: called with each round that was compared.

    Raises:
        ArchiveError: the file is damaged, or does not have what the store has.
    """
    for round_id in range(found.manifest.first_round, found.manifest.last_round + 1):
        archived = found.frames(round_id)
        if round_id > after:
            async with read() as tx:
                if [frame async for frame in tx.records.frames(round_id)] != archived:
                    raise refused(found.path, f"does not have what the store has of round {round_id}; move it away")
        advance()
