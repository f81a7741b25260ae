"""Reading of a dispatch that arrived: all of it is checked before anybody works with it (SPEC 13). No I/O."""

import base64
import binascii
import threading
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

import msgspec

from sssa.protocol import limits
from sssa.protocol.answer import Dispatch, probe_values
from sssa.protocol.archives import ArchiveError
from sssa.protocol.bundles import read_bundle
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.errors import ValidatorError
from sssa.protocol.strict_json import JsonError, decode

MAX_DISPATCH: Final = 4 * -(-limits.MAX_BUNDLE_COMPRESSED // 3) + 64 * 1024


class DispatchRefusedError(ValidatorError):
    """The dispatch is refused."""


class Files(dict[str, bytes]):
    """A bundle's files by path. Nobody changes them: anyone who has the same bundle has the same ones."""


_files: Final[WeakValueDictionary[str, Files]] = WeakValueDictionary()
_unpacking: Final = threading.Lock()


class OpenedDispatch(NamedTuple):
    """A dispatch without its bundle, and the bundle's files by path."""

    dispatch: Dispatch
    files: dict[str, bytes]


def open_dispatch(body: bytes) -> OpenedDispatch:
    """Return the dispatch in `body` with its bundle unpacked. May take tens of milliseconds: not for the event loop.

    Raises:
        DispatchRefusedError: not a dispatch, a bundle that is damaged or not the one it names, or probe values that
            do not follow from the nonce (they name a file to write).
    """
    try:
        dispatch = decode(body, Dispatch, limit=MAX_DISPATCH)
        bundle = base64.b64decode(dispatch.bundle, validate=True)
    except JsonError as error:
        raise DispatchRefusedError(str(error)) from None
    except (binascii.Error, ValueError):
        raise DispatchRefusedError("not standard padded base64 - at `bundle`") from None
    if sha256_hex(bundle) != dispatch.bundle_sha256.lower():
        raise DispatchRefusedError("the bundle has another sha256 - at `bundle_sha256`")
    if dispatch.probe_spec != probe_values(dispatch.nonce):
        raise DispatchRefusedError("not derived from the nonce - at `probe_spec`")
    # It waits here for its time to answer, next to other miners of this process with the same bundle.
    return OpenedDispatch(msgspec.structs.replace(dispatch, bundle=""), _unpacked(dispatch.bundle_sha256, bundle))


def _unpacked(sha256: str, bundle: bytes) -> Files:
    with _unpacking:
        files = _files.get(sha256.lower())
        if files is None:
            try:
                files = Files(read_bundle(bundle))
            except ArchiveError as error:
                raise DispatchRefusedError(f"{error} - at `bundle`") from None
            _files[sha256.lower()] = files
        return files
