"""Attribution of failures: this machine's, or possibly caused by a peer (SPEC 16, D-26)."""

import errno
import os
import socket

import pytest
from aiohttp import ClientConnectorError, ClientOSError, ServerDisconnectedError

from validator.outgoing.calls import Cause, SpoolError, cause_of

RESOURCES = ("EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "ENOSPC", "EDQUOT")
ROUTE = ("ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EHOSTDOWN")
# What a peer, or a router at its side, brings about: RST, ICMP of every code, and silence.
PEERS = (
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "EPIPE",
    "ETIMEDOUT",
    "EACCES",
    "EPROTO",
    "EMSGSIZE",
    "ENOPROTOOPT",
)


def os_error(name: str) -> OSError:
    number = getattr(errno, name)
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("names", "cause"), [(RESOURCES, "resources"), (ROUTE, "route"), (PEERS, None)], ids=["resources", "route", "peer"]
)
@pytest.mark.parametrize("ipv6", [False, True])
def test_errors_of_the_system_tell_whose_they_are(names: tuple[str, ...], cause: Cause | None, ipv6: bool) -> None:
    for name in names:
        error = os_error(name)
        assert cause_of(error, ipv6=ipv6) == cause, name
        wrapped = ClientOSError(error.errno, error.strerror)
        assert cause_of(wrapped, ipv6=ipv6) == cause, name


def test_no_port_left_is_ours_but_no_address_of_the_peers_family_is_not_for_certain() -> None:
    error = os_error("EADDRNOTAVAIL")
    assert cause_of(error, ipv6=False) == "resources"
    assert cause_of(error, ipv6=True) == "route"  # anyone who announces an IPv6 axon to an IPv4 validator gets this


def raised_from(cause: BaseException) -> Exception:
    try:
        try:
            raise cause
        except BaseException as error:
            raise ServerDisconnectedError from error
    except ServerDisconnectedError as error:
        return error


def test_what_an_error_was_raised_from_counts() -> None:
    assert cause_of(MemoryError(), ipv6=False) == "resources"
    assert cause_of(raised_from(MemoryError()), ipv6=False) == "resources"
    assert cause_of(raised_from(os_error("EMFILE")), ipv6=False) == "resources"
    assert cause_of(raised_from(SpoolError("full")), ipv6=False) == "resources"
    assert cause_of(RuntimeError("can't start new thread"), ipv6=False) == "resources"
    assert cause_of(RuntimeError("hostile"), ipv6=False) is None
    assert cause_of(socket.gaierror(-3, "Temporary failure in name resolution"), ipv6=False) == "route"
    assert cause_of(ServerDisconnectedError("can't start new thread"), ipv6=False) is None  # a peer's words are words


def test_a_connector_error_wraps_what_the_system_said() -> None:
    key = None  # only shown
    assert cause_of(ClientConnectorError(key, os_error("EMFILE")), ipv6=False) == "resources"  # type: ignore[arg-type]
    assert cause_of(ClientConnectorError(key, os_error("ECONNREFUSED")), ipv6=False) is None  # type: ignore[arg-type]
