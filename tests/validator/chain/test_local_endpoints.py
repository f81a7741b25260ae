"""Detection of local endpoints: their silence says nothing about the network (SPEC 16, D-26)."""

import socket

import pytest

from validator.chain.opening import on_this_machine


@pytest.mark.parametrize(
    ("endpoints", "here"),
    [
        (["ws://127.0.0.1:9944"], True),
        (["ws://[::1]:9944", "ws://localhost:9944"], socket.has_ipv6),
        (["ws://127.0.0.1:9944", "finney"], False),
        (["finney"], False),
        (["wss://192.0.2.7:443"], False),
        (["ws://no-such-host.invalid:9944"], False),
    ],
)
def test_only_where_every_endpoint_is(endpoints: list[str], here: bool) -> None:
    assert on_this_machine(endpoints) == here
