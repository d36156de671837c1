"""Check that a shop's webhook URL doesn't lead into the deployment's own network.

Names are resolved at each send, and the connection goes to the address that was checked, so a name that
resolves differently a moment later (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator

import httpx

MAX_URL_CHARS = 500
MAX_ADDRESSES = 4
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Networks that "private" opens. Not link-local: clouds hand out credentials there.
_PRIVATE = [
    ipaddress.ip_network(one)
    for one in (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8"),
        *("::1/128", "fc00::/7"),
    )
]
# IANA's special-purpose, multicast and reserved addresses, as of 2025. Not `is_global`: it differs between
# releases of Python, and counts some ranges as public that no till can be in.
_SPECIAL = [
    ipaddress.ip_network(one)
    for one in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
        *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
        *("2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20"),
    )
]
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # all of IPv6 that was allocated so far


class AddressRefused(ValueError):
    """A URL was refused. The message says why, without the resolved address."""


def usable(text: str, *, private: bool) -> httpx.URL:
    """Parse a URL that messages may be sent to: https, or plain http on this machine.

    `private` also allows private networks and this machine.

    Raises:
        AddressRefused: messages may not be sent there.
    """
    try:
        url = httpx.URL(text)
        host, port = url.raw_host.decode("ascii"), url.port
    except (httpx.InvalidURL, ValueError, UnicodeError):
        raise AddressRefused("it is not a URL") from None
    if len(text) > MAX_URL_CHARS or not text.isprintable() or " " in text:
        raise AddressRefused(
            f"it is over {MAX_URL_CHARS} characters long, or has characters that a URL can't have"
        )
    if not host or url.userinfo or "#" in text or not (port is None or 0 < port < 65_536):
        raise AddressRefused("it needs a host, and no user, password or fragment")
    if url.scheme != "https" and not (url.scheme == "http" and private and is_this_machine(host)):
        raise AddressRefused("it must begin with https://")
    if (literal := _parsed(host)) is not None:
        _check(literal, private=private)
    return url


def resolved(url: httpx.URL, *, private: bool) -> list[str]:
    """Resolve a URL's host to the addresses to connect to, in this order; blocks during the lookup.

    Raises:
        AddressRefused: messages may not be sent to one of them.
        OSError: the name is unknown, or the lookup failed.
    """
    host = url.raw_host.decode("ascii")
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label that is too long for DNS
        raise OSError(f"{host[:60]} is not a host name") from None
    addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
    for address in addresses:
        parsed = _parsed(address)
        if parsed is None:
            raise AddressRefused("it doesn't lead to a network address")
        _check(parsed, private=private)
    return addresses[:MAX_ADDRESSES]


def _check(address: _Address, *, private: bool) -> None:
    for target in _targets(address):
        if private and any(target in network for network in _PRIVATE):
            continue
        special = any(target in network for network in _SPECIAL)
        if special or (target.version == 6 and target not in _GLOBAL_V6):
            raise AddressRefused("it leads into a private network or to this machine")


def _targets(address: _Address) -> Iterator[_Address]:
    """Yield the address, or the embedded IPv4 address that a gateway would forward to."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address.sixtofour is not None:
        yield address.sixtofour
    elif address.teredo is not None:
        yield from address.teredo
    elif address in _NAT64:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    else:
        yield address


def _parsed(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_this_machine(host: str) -> bool:
    """Return whether a host name or address is this machine's loopback."""
    literal = _parsed(host)
    return host == "localhost" if literal is None else literal.is_loopback
