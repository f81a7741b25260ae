"""Messages over a socket: a length, then JSON; nothing longer than the bound is read."""

import json
import socket
import struct
from typing import Any, Final

MOST: Final = 16 * 1024 * 1024
_HEAD: Final = struct.Struct(">I")


class WireError(Exception):
    """The other side is gone, or sends what is no message."""


class Wire:
    """One end of a socket pair."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, message: Any) -> None:
        """Send a message.

        Raises:
            WireError: it is too long, or the other end is gone.
        """
        data = json.dumps(message, separators=(",", ":")).encode()
        if len(data) > MOST:
            raise WireError(f"a message of {len(data)} bytes")
        try:
            self._end.sendall(_HEAD.pack(len(data)) + data)
        except OSError as error:
            raise WireError(str(error)) from None

    def receive(self) -> Any:
        """Return the next message.

        Raises:
            WireError: there is none, or it is too long or no JSON.
        """
        (size,) = _HEAD.unpack(self._exactly(_HEAD.size))
        if size > MOST:
            raise WireError(f"a message of {size} bytes")
        try:
            return json.loads(self._exactly(size))
        except (ValueError, RecursionError) as error:
            raise WireError(str(error)) from None

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = self._end.recv(min(size - len(data), 65_536))
            except OSError as error:
                raise WireError(str(error)) from None
            if not piece:
                raise WireError("the other side is gone")
            data += piece
        return bytes(data)
