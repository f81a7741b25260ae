"""A request as bytes: nothing is in it that was not asked for, and nothing of another call's."""

import re
from collections.abc import Mapping
from typing import Final

from yarl import URL

_FIELDS: Final = (
    "Accept: application/json",
    "Accept-Encoding: identity",  # nothing is inflated (SPEC 13)
    "User-Agent: sssa-validator",
)
_TARGET: Final = re.compile(r"/[!-~]*")
_HOST: Final = re.compile(r"[!-~]+")


def head_of(method: str, url: URL, path: str, size: int, signed: Mapping[str, str]) -> bytes:
    """Return the head of a request.

    Args:
        method: POST or GET.
        url: names the host.
        path: request target with query, as signed.
        size: bytes of the body; a GET has none.
        signed: further fields.

    Raises:
        ValueError: host or path do not fit into a line.
    """
    host = url.host_port_subcomponent or ""
    if not _TARGET.fullmatch(path) or not _HOST.fullmatch(host):
        raise ValueError("host or path of the request cannot be sent")
    body = ("Content-Type: application/json", f"Content-Length: {size}") if method == "POST" else ()
    own = (f"{name}: {value}" for name, value in signed.items())
    lines = (f"{method} {path} HTTP/1.1", f"Host: {host}", *_FIELDS, *body, *own, "Connection: close", "", "")
    return "\r\n".join(lines).encode("ascii")
