"""Network addresses: whom a limit counts as one, and which proxies are believed."""

from __future__ import annotations

import ipaddress

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
"""How a setting names this machine itself."""


def counted_as(host: str) -> str:
    """The key under which an address is counted: itself, or the /64 of an IPv6 address, all of which its
    owner has to choose from. What is no address (a socket of another kind) stays as it is."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


def networks(text: str, name: str) -> list[Network]:
    """The addresses and networks of a comma list; `name` is the variable that held it.

    Raises:
        ValueError: one is neither. `*` is none either: whoever is believed can claim any address.
    """
    found = []
    for one in filter(None, (part.strip() for part in text.split(","))):
        try:
            found.append(ipaddress.ip_network(one, strict=False))
        except ValueError:
            raise ValueError(f"{name}: {one!r} is no address and no network such as 10.0.0.0/8") from None
    return found


def within(host: str, found: list[Network]) -> bool:
    """Whether an address is in one of the networks; False for what is no address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in found)
