"""Which addresses a URL that a shop named may lead to: none inside of the deployment's own network.

What a name resolves to is asked for at each send, and the connection goes to the very address that was looked
at: a name that answers otherwise a moment later (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator

import httpx

MAX_URL_CHARS = 500
MAX_ADDRESSES = 4
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# What "private" opens, and nothing else that is not public: link-local is where clouds hand out credentials.
_PRIVATE = [
    ipaddress.ip_network(one)
    for one in (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8"),
        *("::1/128", "fc00::/7"),
    )
]
# IANA's special-purpose addresses, multicast and what is reserved, as of 2025. Not `is_global`: what that
# says differs between releases of Python, and it takes some ranges in which no till can be for public.
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
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # of IPv6, all that anybody was given so far


class AddressRefused(ValueError):
    """A sentence that says why, without what the name resolves to."""


def usable(text: str, *, private: bool) -> httpx.URL:
    """A URL to which messages may be sent: https; plain http for this machine alone.

    `private`: also into private networks and to this machine.

    Raises:
        AddressRefused: it is none.
    """
    try:
        url = httpx.URL(text)
        host, port = url.raw_host.decode("ascii"), url.port
    except (httpx.InvalidURL, ValueError, UnicodeError):
        raise AddressRefused("it is no URL") from None
    if len(text) > MAX_URL_CHARS or not text.isprintable() or " " in text:
        raise AddressRefused(f"it has over {MAX_URL_CHARS} characters, or some that a URL has not")
    if not host or url.userinfo or "#" in text or not (port is None or 0 < port < 65_536):
        raise AddressRefused("it wants a host, and no user, password or fragment")
    if url.scheme != "https" and not (url.scheme == "http" and private and is_this_machine(host)):
        raise AddressRefused("it must begin with https://")
    if (literal := _parsed(host)) is not None:
        _check(literal, private=private)
    return url


def resolved(url: httpx.URL, *, private: bool) -> list[str]:
    """The addresses of a URL's host, to connect to in this order, at most a few; blocks as a look-up does.

    Raises:
        AddressRefused: one of them is none that messages may go to.
        OSError: the name is not known, or nobody answers who it is.
    """
    host = url.raw_host.decode("ascii")
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label that is too long for DNS
        raise OSError(f"{host[:60]} is no name of a host") from None
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    for address in addresses:
        parsed = _parsed(address)
        if parsed is None:
            raise AddressRefused("it leads to no address of a network")
        _check(parsed, private=private)
    return addresses[:MAX_ADDRESSES]


def _check(address: _Address, *, private: bool) -> None:
    for one in _meant(address):
        if private and any(one in network for network in _PRIVATE):
            continue
        special = any(one in network for network in _SPECIAL)
        if special or (one.version == 6 and one not in _GLOBAL_V6):
            raise AddressRefused("it leads into a private network or to this machine")


def _meant(address: _Address) -> Iterator[_Address]:
    """The address, or the IPv4 one that is inside of it, to which a gateway would pass it on."""
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
    """Whether a host, by name or address, is this machine's loopback."""
    literal = _parsed(host)
    return host == "localhost" if literal is None else literal.is_loopback
