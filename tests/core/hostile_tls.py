"""TLS servers of a miner that wants the handshake, or what follows it, to be dear or endless."""

import _ssl
import asyncio
import ctypes
import random
import ssl
from base64 import encodebytes
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

CERTIFICATE: Final = Path(__file__).with_name("hostile_tls.pem")
FLOOD: Final = 8_000  # key updates, some 27 bytes each
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def context() -> ssl.SSLContext:
    """A server's context with a self-signed certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(CERTIFICATE)
    return made


@cache
def own_group(folder: Path) -> ssl.SSLContext:
    """TLS 1.2 whose key exchange is in a group of 10,000 bits, the most that OpenSSL takes."""
    prime = (random.Random(1).getrandbits(10_000) | 1 | 1 << 9_999).to_bytes(1_251, "big")
    integers = b"\x02\x82" + len(prime).to_bytes(2, "big") + prime + b"\x02\x01\x02"
    der = b"\x30\x82" + len(integers).to_bytes(2, "big") + integers
    path = folder / "group.pem"
    path.write_bytes(b"-----BEGIN DH PARAMETERS-----\n" + encodebytes(der) + b"-----END DH PARAMETERS-----\n")
    made = context()
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.set_ciphers("DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0")
    made.load_dh_params(str(path))
    return made


def retried() -> ssl.SSLContext:
    """TLS 1.3 that asks for a key share in ffdhe8192 (HelloRetryRequest)."""
    made = context()
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.set_ecdh_curve("ffdhe8192")
    return made


_LIBRARY: Final = ctypes.CDLL(_ssl.__file__)  # and what it is linked with; a process may have another libssl too


def update_keys(secure: ssl.SSLObject, times: int = FLOOD) -> None:
    """Put as many key updates into what is written next; no function of Python's does."""
    address = id(secure._sslobj) + 24  # type: ignore[attr-defined]
    # SSL * is behind the head of the object and a reference
    pointer = ctypes.c_void_p.from_address(address)
    for _ in range(times):
        assert _LIBRARY.SSL_key_update(pointer, 0) == 1
        assert _LIBRARY.SSL_do_handshake(pointer) == 1


async def flooding(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send key updates before a response that never comes."""
    await reader.readuntil(b"\r\n\r\n")
    await asyncio.to_thread(update_keys, writer.get_extra_info("ssl_object"))  # other servers are on this loop
    writer.write(b"H")
    await holding(reader, writer)


async def holding(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say nothing to the greeting."""
    with suppress(OSError):
        while await reader.read(65_536):
            pass
    writer.close()
