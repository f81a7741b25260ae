"""Whatever bytes come back, the client neither raises nor lets a broken response pass for a whole one."""

import asyncio
from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from miner_servers import call_to, content, http_client, raw_server, read_request, self_signed

from sssa.protocol.reasons import Reason

LIMIT = 5_000
PIECES = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.0 200\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: 6000\r\n",
    b"Content-Length: +5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Content-Encoding: deflate\r\n",
    b"Connection: keep-alive\r\n",
    b"Set-Cookie: a=b; Domain=\xff\r\n",
    b"X: " + b"y" * 9_000 + b"\r\n",
    b" folded\r\n",
    b"\r\n",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"hello",
    b"x" * 6_000,
    b"\x00",
    b"\n",
]
RESPONSES = st.lists(st.sampled_from(PIECES) | st.binary(max_size=20), max_size=8)
ALLOWED = {None, Reason.DEADLINE_TRANSPORT, Reason.DEADLINE_STATUS, Reason.PARSE_TOO_LARGE}


async def exchange(pieces: Sequence[bytes], *, tls: bool) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0)

    server = raw_server(handle, tls=self_signed() if tls else None)
    async with server as axon, http_client() as client:
        for method in (client.post, client.get):
            reply = await method(call_to(axon, limit=LIMIT))
            body = content(reply)
            assert reply.reason in ALLOWED
            assert (body is not None) == (reply.reason is None)
            assert reply.detail.isprintable()
            if body is not None:
                assert reply.status == 200
                assert len(body) <= LIMIT
                assert b"HTTP/1." in b"".join(pieces)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(RESPONSES, st.booleans())
def test_any_bytes_end_in_one_reply(pieces: list[bytes], tls: bool) -> None:
    asyncio.run(exchange(pieces, tls=tls))
