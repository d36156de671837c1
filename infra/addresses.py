"""Addresses: whom a limit counts as one, which proxies are believed, and parameters in a setting's URL."""

from __future__ import annotations

import ipaddress
from urllib.parse import parse_qsl, urlencode, urlsplit

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


def parameters(url: str, *known: str) -> tuple[str, dict[str, str]]:
    """Take what saycart itself is told out of a URL's query; all else of the URL stays as it is.

    Raises:
        ValueError: one of them is there twice.
    """
    parts = urlsplit(url)
    given = parse_qsl(parts.query, keep_blank_values=True)
    own = [(name, value) for name, value in given if name in known]
    if len(dict(own)) < len(own):
        raise ValueError("a parameter is there twice")
    rest = urlencode([pair for pair in given if pair not in own])
    return (parts._replace(query=rest).geturl() if own else url), dict(own)
