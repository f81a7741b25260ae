"""Rounds of the store into a file: whole or not at all, then read back and held against the store."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.msgpack import Ext
from sqlalchemy import Table
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.files import new_file
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Signature
from validator.store.archive.file import ArchiveFile, name_of, refused
from validator.store.archive.form import (
    MAGIC,
    Block,
    Columns,
    Manifest,
    Row,
    manifest_bytes,
    packed_section,
)
from validator.store.archive.loading import load_block
from validator.store.archive.rows import PRUNED, TABLES, columns_of, key_of, rows_of
from validator.store.schema import revisions
from validator.store.tables import answers, scores
from validator.store.transaction import Transaction

BLOCK_ROUNDS: Final = 16  # read together by whoever asks for one of them
BLOCK_BYTES: Final = 32 * 1024 * 1024  # unpacked; a block ends with the round that reaches it
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
        ArchiveError: rounds are too large.
        OSError: it cannot be written.
        StoreError: the store cannot be read.
    """
    path = folder / name_of(*span)
    blocks: list[Block] = []
    with new_file(path) as stream:
        stream.write(MAGIC)
        following = span.first
        while following <= span.last:
            block, sections = await _block(read, Rounds(following, span.last), advance)
            for data in sections:
                stream.write(data)
            blocks.append(block)
            following = block.last_round + 1
        manifest = Manifest(
            archive_version="1",
            validator_hotkey=signer.hotkey,
            netuid=netuid,
            first_round=span.first,
            last_round=span.last,
            revision=revisions()[-1],
            tables=tuple(Columns(str(table.name), columns_of(table)) for table in TABLES),
            blocks=tuple(blocks),
            signature=Signature(signer.hotkey, "sr25519", _UNSIGNED),
        )
        data = manifest_bytes(signer.sign_document(manifest))
        stream.write(data + len(data).to_bytes(8, "big") + MAGIC)
    return path


async def _block(read: Reading, left: Rounds, advance: Advance) -> tuple[Block, list[bytes]]:
    """Return the next rounds as a block, as many as one holds."""
    rows: list[list[Row]] = [[] for _ in TABLES]
    size = 0
    for round_id in range(left.first, min(left.last, left.first + BLOCK_ROUNDS - 1) + 1):
        async with read() as tx:
            for place, table in enumerate(TABLES):
                found = await rows_of_round(tx, table, round_id)
                rows[place] += found
                size += sum(_size(row) for row in found)
        advance()
        if size >= BLOCK_BYTES:
            break
    packed = [packed_section(by_column(table, found)) for table, found in zip(TABLES, map(_once, rows), strict=True)]
    who = columns_of(scores).index("hotkey")
    hotkeys = sorted({row[who] for row in rows[TABLES.index(scores)]})
    block = Block(left.first, round_id, tuple(hotkeys), tuple(section for _, section in packed))
    return block, [data for data, _ in packed]


def by_column(table: Table, rows: Sequence[Row]) -> list[list[Any]]:
    """Return rows as the values of each column."""
    return [list(values) for values in zip(*rows, strict=True)] or [[] for _ in table.columns]


async def rows_of_round(tx: Transaction, table: Table, round_id: int) -> list[Row]:
    """Return a table's rows of a round, of a folded one as they were before."""
    place = tx.connection if table is answers else await tx.packing.folded.of_round(round_id, tx.connection)
    return await rows_of(place, table, round_id, round_id)


def _once(rows: list[Row]) -> list[Row]:
    """Return rows without those that two rounds name."""
    return list({msgspec.msgpack.encode(row): row for row in rows}.values())


def _size(row: Row) -> int:
    return sum(
        len(bytes(value.data) if isinstance(value, Ext) else value)
        for value in row
        if isinstance(value, Ext | str | bytes)
    )


async def require_same(read: Reading, found: ArchiveFile, after: int, advance: Advance) -> None:
    """Read a file in whole, and hold the store's rows of its rounds against it.

    Args:
        read: as for `write_archive`.
        found: the file.
        after: rounds up to this one are in files alone.
        advance: called with each round that was held.

    Raises:
        ArchiveError: the file is damaged, of unknown tables, or does not have what the store has.
    """
    for number, block in enumerate(found.manifest.blocks):
        loaded = await load_block(found, number)
        try:
            for round_id in range(block.first_round, block.last_round + 1):
                if round_id > after:
                    await _require_round(read, found, loaded.connection, round_id)
                advance()
        finally:
            await loaded.close()


async def _require_round(read: Reading, found: ArchiveFile, block: AsyncConnection, round_id: int) -> None:
    async with read() as tx:
        for table in TABLES:
            stored = await rows_of_round(tx, table, round_id)
            archived = await rows_of(block, table, round_id, round_id)
            key = key_of(table)
            by_key = {tuple(row[i] for i in key): row for row in archived}
            lost = any(by_key.get(tuple(row[i] for i in key)) != row for row in stored)
            if lost or (table.name != PRUNED and len(stored) != len(archived)):
                raise refused(
                    found.path, f"does not have what the store has of round {round_id} in {table.name}; move it away"
                )
