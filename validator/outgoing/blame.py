"""Which failures of a call had their cause on this machine (SPEC 16, D-26).

A peer decides what most errors are: it refuses, resets, answers nonsense, or has a router say that it cannot be
reached. What it cannot bring about is that this machine has no descriptor, memory, port or disk space left.
"""

import errno
import socket
from collections.abc import Iterator
from typing import Final, Literal

from validator.outgoing.body import SpoolError

Cause = Literal["resources", "route"]
"""`resources`: for certain ours. `route`: no route or no name service; a peer that is away looks the same."""

_RESOURCES: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.ENOSPC, errno.EDQUOT}  # none has an ICMP message
)
_ROUTE: Final = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})
_NO_THREAD: Final = "can't start new thread"


def cause_of(error: BaseException, *, ipv6: bool) -> Cause | None:
    """Return what on this machine may have caused a failure, None where nothing speaks for that.

    Args:
        error: as it was raised; what it was raised from counts as well.
        ipv6: whether the peer's address is of that family.
    """
    causes = {_own_cause(each, ipv6=ipv6) for each in _chain(error)}
    if "resources" in causes:
        return "resources"
    return "route" if "route" in causes else None


def _own_cause(error: BaseException, *, ipv6: bool) -> Cause | None:
    if isinstance(error, MemoryError | SpoolError) or (isinstance(error, RuntimeError) and _NO_THREAD in str(error)):
        return "resources"
    if isinstance(error, socket.gaierror):
        return "route"
    if not isinstance(error, OSError):
        return None
    if error.errno == errno.EADDRNOTAVAIL:
        # No port is left; or this machine has no IPv6 address, which whoever announces an IPv6 axon may count on.
        return "route" if ipv6 else "resources"
    if error.errno in _RESOURCES:
        return "resources"
    return "route" if error.errno in _ROUTE else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it was raised from or wraps, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        inner = [
            each.__cause__,
            None if each.__suppress_context__ else each.__context__,
            getattr(each, "os_error", None),
        ]
        inner += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        waiting += [one for one in inner if isinstance(one, BaseException)]
