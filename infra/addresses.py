"""Network addresses: as keys of limits, as lists of trusted proxies, and parameters in a setting's URL."""

from __future__ import annotations

import ipaddress
from urllib.parse import parse_qsl, urlencode, urlsplit

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
"""Host names of the loopback interface in settings."""


def counted_as(host: str) -> str:
    """Return the key under which an address is counted: the address, or the /64 of an IPv6 address, since a
    client can use all of it. Anything that isn't an IP address is returned unchanged."""
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
    """Parse a comma-separated list of addresses and networks; `name` is the variable it came from.

    Raises:
        ValueError: an entry is neither. `*` isn't allowed: a trusted proxy can claim any address.
    """
    parsed = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            parsed.append(ipaddress.ip_network(part, strict=False))
        except ValueError:
            raise ValueError(f"{name}: {part!r} is not an address or a network such as 10.0.0.0/8") from None
    return parsed


def within(host: str, networks: list[Network]) -> bool:
    """Return whether `host` is an address in one of the networks."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in networks)


def parameters(url: str, *known: str) -> tuple[str, dict[str, str]]:
    """Take saycart's own parameters out of a URL's query; return the rest of the URL, and the parameters.

    Raises:
        ValueError: a parameter is repeated.
    """
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    own = [(name, value) for name, value in query if name in known]
    if len(dict(own)) < len(own):
        raise ValueError("a parameter is repeated")
    rest = urlencode([pair for pair in query if pair not in own])
    return (parts._replace(query=rest).geturl() if own else url), dict(own)
