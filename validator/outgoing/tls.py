"""TLS of one outgoing connection, opened record by record within bounds that no peer moves.

A peer chooses what a handshake costs, and may send for ever what is no data: one handshake in a Diffie-Hellman group of
10,000 bits took 1 s, so only curves are offered. No event loop's TLS lets anyone count records.
"""

import asyncio
import socket
import ssl
from concurrent.futures import Executor
from functools import cache
from typing import Final

_HEAD: Final = 5  # bytes of a record: its type, a version, the length of the rest
_MOST: Final = 16 * 1024  # bytes of data in a record
_MOST_SEALED: Final = _HEAD + _MOST + 2 * 1024
_HANDSHAKE: Final = 64 * 1024  # bytes; a long chain of certificates is 10 KiB
_HANDSHAKE_RECORDS: Final = 64
_SILENT: Final = 32  # records without data after it; a server's tickets are some three
_OVERHEAD: Final = 32 * 1024  # bytes after it that are no data, and half as many as are: more is data in tiny records


class TlsError(ssl.SSLError):
    """The peer's TLS exceeds a bound."""


class Tls:
    """One connection's TLS. Everything but `shake` takes microseconds; a single thread at a time may call it.

    With `checked` the peer's certificate must be for `host`. Without, TLS keeps bystanders from reading, and no more.
    """

    def __init__(self, host: str, *, checked: bool) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._secure = _context(checked=checked).wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._received = bytearray()
        self._records = 0
        self._silent = 0
        self._overhead = 0
        self._data = 0

    def receive(self, data: bytes) -> None:
        """Take what arrived."""
        self._received += data

    def discard(self) -> None:
        """Forget what arrived and was not opened."""
        self._received.clear()

    @property
    def has_record(self) -> bool:
        """True if a whole record has arrived, or the head of one that is too large."""
        return len(self._received) >= _HEAD and (len(self._received) >= self._size or self._size > _MOST_SEALED)

    @property
    def _size(self) -> int:
        return _HEAD + int.from_bytes(self._received[3:_HEAD])

    def take(self) -> bytes:
        """Return the first record that has arrived (TlsError: it is too large)."""
        if self._size > _MOST_SEALED:
            raise TlsError("a record is too large, or this is not TLS")
        record = bytes(self._received[: self._size])
        del self._received[: self._size]
        return record

    def shake(self, record: bytes) -> bool:
        """Make one step of the handshake with a record, the first without; return whether it is complete. Takes ms.

        Raises:
            OSError: it failed, or is longer than any that is needed.
        """
        self._records += 1
        self._overhead += len(record)
        if self._records > _HANDSHAKE_RECORDS or self._overhead > _HANDSHAKE:
            raise TlsError("the handshake is too long")
        self._incoming.write(record)
        try:
            self._secure.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self._overhead = 0
        return True

    def open(self, record: bytes) -> bytes | None:
        """Return the data in a record, None where the peer ends the connection with it.

        Raises:
            TlsError: the peer has sent too much that is no data.
            OSError: it cannot be opened.
        """
        self._incoming.write(record)
        try:
            data: bytes = self._secure.read(_MOST)
        except ssl.SSLWantReadError:
            data = b""
            self._silent += 1
        else:
            if not data:
                return None
        self._data += len(data)
        self._overhead += len(record) - len(data)
        if self._silent > _SILENT or self._overhead > _OVERHEAD + self._data // 2:
            raise TlsError("more records than data")
        return data

    def seal(self, data: bytes | memoryview = b"") -> bytes:
        """Return the bytes to send for `data`, and what TLS has to send by itself (OSError: it cannot be sealed)."""
        if data:
            self._secure.write(data)
        return self._outgoing.read()


async def shake_hands(connection: socket.socket, tls: Tls, threads: Executor) -> None:
    """Do the handshake on a fresh connection; its steps are taken in `threads` (OSError: it failed)."""
    loop, record = asyncio.get_running_loop(), b""
    while True:
        is_over = await loop.run_in_executor(threads, tls.shake, record)
        await loop.sock_sendall(connection, tls.seal())
        if is_over:
            return
        while not tls.has_record:
            if not (data := await loop.sock_recv(connection, _MOST)):
                raise ConnectionResetError("the connection ended in the handshake")
            tls.receive(data)
        record = tls.take()


@cache
def _context(*, checked: bool) -> ssl.SSLContext:
    context = ssl.create_default_context() if checked else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not checked:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    context.set_ecdh_curve("prime256v1")  # in TLS 1.3 too, where every server must have it: nothing is tried again
    context.set_alpn_protocols(("http/1.1",))
    return context
