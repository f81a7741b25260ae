"""Response bodies that cost little memory: small ones in memory, larger ones in a temporary file."""

import asyncio
import hashlib
import tempfile
from concurrent.futures import Executor
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from validator.protocol.errors import ValidatorError
from validator.protocol.round import RawAnswer

MEMORY_LIMIT: Final = 256 * 1024  # bytes of one body in memory


class SpoolError(ValidatorError):
    """The temporary file of a response body could not be written: free disk space or check the spool folder."""


class Body:
    """A received body. Close it when done; a temporary file (without a name) vanishes with it.

    Args:
        data: the bytes, or what is left of them in memory after `file`.
        file: the first part, for large bodies.
        size: bytes altogether.
    """

    def __init__(self, data: bytes, file: IO[bytes] | None = None, size: int | None = None) -> None:
        self._data = data
        self._file = file
        self.size: int = len(data) if size is None else size

    def read(self) -> bytes:
        """Return the whole body. Reads a file when it is large: call it off the event loop then."""
        if self._file is None:
            return self._data
        self._file.seek(0)
        return self._file.read() + self._data

    def close(self) -> None:
        """Free the memory and the file; `read` then gives nothing any more."""
        self._data = b""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Spool:
    """Collects one body while it arrives; whole blocks are hashed and written in `threads`, never on the event loop.

    Args:
        threads: where files are opened and written.
        folder: where the temporary file goes, None for the system's own place.
    """

    def __init__(self, threads: Executor, folder: Path | None = None) -> None:
        self._threads = threads
        self._folder = folder
        self._buffer = bytearray()
        self._file: IO[bytes] | None = None
        self._hash = hashlib.sha256()
        self.size = 0

    async def write(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            SpoolError: the file cannot be written.
        """
        self._buffer += chunk
        self.size += len(chunk)
        if len(self._buffer) > MEMORY_LIMIT:
            block, self._buffer = self._buffer, bytearray()
            await self._write_off_loop(block)

    def raw(self, *, complete: bool) -> RawAnswer:
        """Return what is kept for good of the bytes so far; before `finish` and `discard`."""
        whole = self._hash.copy()
        whole.update(self._buffer)
        return RawAnswer(whole.hexdigest(), self.size, complete)

    def finish(self) -> Body:
        """Return the body; the spool is done."""
        file, self._file = self._file, None
        return Body(bytes(self._buffer), file, self.size)

    def discard(self) -> None:
        """Throw away what has been collected."""
        self._buffer.clear()
        if self._file is not None:
            self._file.close()

    async def _write_off_loop(self, block: bytearray) -> None:
        writing = asyncio.get_running_loop().run_in_executor(self._threads, self._append, block)
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])  # the file must not be closed under the thread's hands
            raise
        except OSError as error:
            raise SpoolError(error.strerror or type(error).__name__) from error

    def _append(self, block: bytearray) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115 - the Body closes it
        self._hash.update(block)
        view = memoryview(block)
        while view:
            view = view[self._file.write(view) :]
