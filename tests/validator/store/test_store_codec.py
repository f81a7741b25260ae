"""Stored bytes: what each codec made is read, within a bound, and what is damaged is refused."""

import asyncio
import random
from collections.abc import Callable

import pytest
import zstandard

from validator.store import codec
from validator.store.codec import INLINE_LIMIT, compressed, expanded, unpack
from validator.store.errors import DamagedError

Codec = Callable[[bytes], bytes]
DOCUMENT = b'{"sssa_version":"1.0","skill":{"skill_type":"mcp_server"}}' * 20


@pytest.mark.parametrize("data", [b"", b"x", DOCUMENT, random.Random(1).randbytes(5_000)])
@pytest.mark.parametrize("made", [compressed, zstandard.ZstdCompressor().compress])
def test_what_any_program_stored_is_read(made: Codec, data: bytes) -> None:
    assert expanded(made(data)) == data


def test_a_frame_says_its_dictionary_and_without_it_is_larger() -> None:
    blob = compressed(DOCUMENT[:200])
    assert zstandard.get_frame_parameters(blob).dict_id == codec.DICTIONARY
    assert len(blob) < len(zstandard.ZstdCompressor(3).compress(DOCUMENT[:200]))


def test_a_dictionary_that_is_not_there_is_named() -> None:
    trained = zstandard.ZstdCompressionDict(
        zstandard.train_dictionary(2_000, [random.Random(n).randbytes(300) for n in range(50)], dict_id=4711).as_bytes()
    )
    with pytest.raises(DamagedError, match="dictionary 4711"):
        expanded(zstandard.ZstdCompressor(dict_data=trained).compress(DOCUMENT))


@pytest.mark.parametrize("made", [compressed])
def test_every_damage_is_an_error_or_changes_nothing(made: Codec) -> None:
    blob = made(DOCUMENT)
    for place in range(len(blob)):
        for other in (blob[:place], blob[:place] + bytes([blob[place] ^ 0x55]) + blob[place + 1 :]):
            try:
                assert expanded(other, 10 * len(DOCUMENT)) == DOCUMENT
            except DamagedError:
                continue
    with pytest.raises(DamagedError):
        expanded(blob + b"x")


@pytest.mark.parametrize("made", [compressed])
def test_nothing_larger_than_the_bound_is_made(made: Codec) -> None:
    bomb = made(bytes(10_000_000))
    assert len(expanded(bomb, 10_000_000)) == 10_000_000
    with pytest.raises(DamagedError, match="more than 9999999 bytes"):
        expanded(bomb, 9_999_999)


def test_a_frame_without_a_length_is_refused() -> None:
    stream = zstandard.ZstdCompressor().compressobj()
    with pytest.raises(DamagedError, match="nothing says how many"):
        expanded(stream.compress(DOCUMENT) + stream.flush())


@pytest.mark.parametrize("made", [compressed])
async def test_the_loop_does_not_wait_for_a_large_document_however_small_it_is_stored(made: Codec) -> None:
    data = b"a" * (INLINE_LIMIT + 1)
    reading = asyncio.create_task(unpack(made(data)))
    await asyncio.sleep(0)
    assert not reading.done()
    assert await reading == data
