"""Digests of raw answers are computed on arrival, also for discarded ones (SPEC 16, D-28)."""

import pytest
from miner_servers import MIB, answering, call_to, http_client, ok, raw_server, then_silent

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.results import RawAnswer
from validator.outgoing.calls import MEMORY_LIMIT


@pytest.mark.parametrize("size", [10, 2 * MEMORY_LIMIT])
async def test_the_part_of_a_body_that_came_before_time_was_up_has_its_digest(size: int) -> None:
    begun = (b"0123456789" * (size // 10 + 1))[:size]
    async with raw_server(then_silent(ok(begun + b"the rest")[: -len(b"the rest")])) as axon, http_client() as client:
        reply = await client.post(call_to(axon, deadline_s=0.5))
    assert (reply.reason, reply.body) == (Reason.DEADLINE_LATE, None)
    assert reply.raw == RawAnswer(sha256_hex(begun), size, complete=False)


async def test_a_body_over_its_limit_has_the_digest_of_a_part_that_its_sender_knows() -> None:
    sent = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256)) * 4_096
    async with raw_server(answering(sent)) as axon, http_client() as client:
        reply = await client.post(call_to(axon, limit=MIB // 2))
    assert reply.reason == Reason.PARSE_TOO_LARGE
    assert reply.raw is not None
    assert not reply.raw.complete
    assert 0 < reply.raw.size <= MIB // 2
    assert reply.raw.sha256 == sha256_hex((bytes(range(256)) * 4_096)[: reply.raw.size])


@pytest.mark.parametrize(
    "response", [ok(b"x" * 101)[:-101], b"HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nbad", b"", b"not http"]
)
async def test_where_no_byte_of_an_answer_came_there_is_none(response: bytes) -> None:
    async with raw_server(answering(response)) as axon, http_client() as client:
        reply = await client.post(call_to(axon, limit=100))
    assert (reply.body, reply.raw) == (None, None)
