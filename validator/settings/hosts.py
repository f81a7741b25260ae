"""Addresses to listen on."""

import ipaddress


def beyond_this_machine(host: object) -> bool:
    """Whether other machines may reach what listens there; a name is taken to be reachable, but for `localhost`."""
    if not isinstance(host, str) or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
