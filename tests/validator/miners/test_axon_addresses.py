"""Only public unicast addresses are called, however an axon spells something else."""

import ipaddress
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sssa.protocol.round import Axon
from validator.miners.client import axon_url
from validator.outgoing.addresses import AddressRefusedError, axon_address

V4 = st.integers(0, 2**32 - 1).map(IPv4Address)
V6 = st.integers(0, 2**128 - 1).map(IPv6Address)
SPECIAL = [
    "0.0.0.0",
    "0.1.2.3",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::8.8.8.8",
    "64:ff9b:1::1",
    "100::1",
    "2001:2::1",
    "2001:db8::1",
    "2001:10::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "100.63.255.255", "172.15.0.1", "172.32.0.1", "223.255.255.255", "2606:4700::1111"]
WRAPPING = [
    "::{v4}",
    "64:ff9b::{v4}",
    "64:ff9b:1::{v4}",
    "2002:{hex}::1",
    "2001:0:{hex}::{flipped}",
    "2001:0:808:808::{flipped}",
]


def allowed(ip: str, port: int = 8091, *, allow_private: bool = False) -> bool:
    try:
        axon_address(Axon(ip, port), allow_private=allow_private)
    except AddressRefusedError:
        return False
    return True


def groups(value: int) -> str:
    return f"{value >> 16:x}:{value & 0xFFFF:x}"


def embedded(form: str, address: IPv4Address) -> str:
    flipped = ~int(address) & 0xFFFF_FFFF
    return form.format(v4=address, hex=groups(int(address)), flipped=groups(flipped))


@pytest.mark.parametrize("ip", SPECIAL)
def test_special_purpose_addresses_are_refused(ip: str) -> None:
    assert not allowed(ip)


@pytest.mark.parametrize("ip", PUBLIC)
def test_public_addresses_are_allowed(ip: str) -> None:
    assert axon_address(Axon(ip, 8091)) == ipaddress.ip_address(ip)


@given(V4 | V6)
@example(IPv4Address("192.31.196.1"))
def test_nothing_is_allowed_that_the_standard_library_calls_not_global(address: IPv4Address | IPv6Address) -> None:
    if allowed(str(address)):
        assert address.is_global
        assert not address.is_multicast


@given(V4)
def test_every_ordinary_ipv4_address_is_allowed(address: IPv4Address) -> None:
    ordinary = address.is_global and not address.is_multicast and not address.is_reserved
    relay = address in ipaddress.ip_network("192.88.99.0/24")
    protocol = address in ipaddress.ip_network("192.0.0.0/24")
    assert allowed(str(address)) == (ordinary and not relay and not protocol)


ANY_V4 = V4 | st.sampled_from([IPv4Address(ip) for ip in SPECIAL + PUBLIC if ":" not in ip])


@given(ANY_V4)
def test_a_mapped_address_is_judged_as_the_one_it_stands_for(address: IPv4Address) -> None:
    assert allowed(f"::ffff:{address}") == allowed(str(address))
    assert allowed(f"::ffff:{address}", allow_private=True) == allowed(str(address), allow_private=True)


@given(ANY_V4, st.sampled_from(WRAPPING))
def test_an_address_wrapped_for_a_gateway_is_refused(address: IPv4Address, form: str) -> None:
    wrapped = embedded(form, address)
    if ipaddress.ip_address(wrapped) != IPv6Address("::1"):
        assert not allowed(wrapped, allow_private=True)


def test_a_mapped_address_is_called_as_the_one_it_stands_for() -> None:
    assert axon_address(Axon("::ffff:8.8.8.8", 80)) == IPv4Address("8.8.8.8")


@pytest.mark.parametrize(
    "ip", ["127.0.0.1", "10.0.0.7", "192.168.1.9", "100.64.1.1", "::1", "fd00::1", "::ffff:127.0.0.1"]
)
def test_private_addresses_are_allowed_only_when_the_settings_say_so(ip: str) -> None:
    assert not allowed(ip)
    assert allowed(ip, allow_private=True)


@pytest.mark.parametrize(
    "ip", ["0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255", "::", "fe80::1", "ff02::1", "64:ff9b::7f00:1"]
)
def test_some_addresses_are_never_allowed(ip: str) -> None:
    assert not allowed(ip, allow_private=True)


@pytest.mark.parametrize(
    "ip",
    [
        "",
        "localhost",
        "miner.example.com",
        "8.8.8.8 ",
        "8.8.8.8\n",
        "8.8.8",
        "134744072",
        "0x08080808",
        "010.8.8.8",
        "8.8.8.8:80",
        "[2606:4700::1111]",
        "2606:4700::1111%eth0",
        "\uff18.8.8.8",
        "8.8.8.8@127.0.0.1",
        "8.8.8.8/../",
        "x" * 100_000,
    ],
)
def test_only_literals_are_taken(ip: str) -> None:
    with pytest.raises(AddressRefusedError) as caught:
        axon_address(Axon(ip, 8091), allow_private=True)
    assert caught.value.detail.isprintable()
    assert len(caught.value.detail) < 100


@given(st.text(max_size=60))
def test_any_text_is_either_an_address_or_refused(text: str) -> None:
    if allowed(text, allow_private=True):
        ipaddress.ip_address(text)


@pytest.mark.parametrize(("port", "taken"), [(0, False), (1, True), (65_535, True), (65_536, False), (-1, False)])
def test_ports_are_from_1_to_65535(port: int, taken: bool) -> None:
    assert allowed("8.8.8.8", port) == taken


@pytest.mark.parametrize(
    ("axon", "url"),
    [
        (Axon("8.8.8.8", 8091), "http://8.8.8.8:8091/v1/x?y=%7e"),
        (Axon("8.8.8.8", 443, tls=True), "https://8.8.8.8/v1/x?y=%7e"),
        (Axon("2606:4700::1111", 8091), "http://[2606:4700::1111]:8091/v1/x?y=%7e"),
    ],
)
def test_urls_keep_the_path_as_it_is_signed(axon: Axon, url: str) -> None:
    made = axon_url(axon, "/v1/x?y=%7e")
    assert made.raw_path_qs == "/v1/x?y=%7e"
    assert str(made) == url
