"""Which addresses a shop's URL may lead to, when it is made and at each send."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from infra.outward import AddressRefused, resolved, usable

INSIDE = [
    "127.0.0.1", "127.8.8.8", "10.1.2.3", "172.31.0.1", "192.168.1.20", "100.64.0.1", "[::1]", "[fd00::1]",
    "[::ffff:10.0.0.1]", "[64:ff9b::10.0.0.1]", "[2002:c0a8:101::1]",
]  # fmt: skip
NEVER = [
    "169.254.169.254", "0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.0.1", "198.18.0.1",
    "[fe80::1]", "[::]", "[ff02::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[::10.0.0.1]",
    "[64:ff9b:1::1]", "[fec0::1]", "[2001:db8::1]", "[fe80::1%25eth0]",
    "0.255.255.255", "169.254.0.1", "192.0.0.192", "192.0.0.9", "192.0.2.1", "192.31.196.1", "192.52.193.1",
    "192.88.99.1", "192.175.48.1", "198.19.255.255", "198.51.100.1", "203.0.113.255", "239.255.255.255",
    "[::ffff:192.0.0.192]", "[64:ff9b::192.0.0.192]", "[100::1]", "[100:0:0:1::1]", "[2001:1::1]",
    "[2001:2::1]", "[2001:20::1]", "[2001:1ff::1]", "[2620:4f:8000::1]", "[3fff::1]", "[5f00::1]",
]  # fmt: skip
PUBLIC = [
    "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
    "169.253.255.255", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.255", "223.255.255.255",
    "[2001:200::1]", "[2001:4860::8888]", "[2606:4700::1111]", "[2a00::1]", "[64:ff9b::8.8.8.8]",
]  # fmt: skip


@pytest.mark.parametrize("host", INSIDE)
def test_what_is_inside_is_for_those_who_allow_it(host: str) -> None:
    with pytest.raises(AddressRefused, match="private network"):
        usable(f"https://{host}/hook", private=False)
    assert usable(f"https://{host}/hook", private=True).path == "/hook"


@pytest.mark.parametrize("host", NEVER)
@pytest.mark.parametrize("private", [False, True])
def test_some_addresses_are_nobodys_till(host: str, private: bool) -> None:
    with pytest.raises(AddressRefused):
        usable(f"https://{host}/hook", private=private)


@pytest.mark.parametrize("host", PUBLIC)
def test_what_is_beside_those_ranges_is_public(host: str) -> None:
    assert usable(f"https://{host}/hook", private=False).path == "/hook"


@pytest.mark.parametrize(
    "url",
    [
        "http://till.example/", "http://8.8.8.8/", "http://10.0.0.1/", "ftp://till.example/", "//a.example/",
        "till.example", "https://", "https:///x", "https://ann:pw@till.example/", "https://till.example/#x",
        "https://till.example:0/", "https://till.example:70000/", "https://till.example/\n", "https://a b/",
        "https://till.example/" + "x" * 500, "file:///etc/passwd", "https://[::1/", "",
    ],
)  # fmt: skip
@pytest.mark.parametrize("private", [False, True])
def test_what_is_no_url_for_it(url: str, private: bool) -> None:
    with pytest.raises(AddressRefused):
        usable(url, private=private)


def test_public_ones_and_plain_http_to_this_machine() -> None:
    for url in ("https://till.example/a?b=c", "https://8.8.8.8:8443/", "https://[2606:4700::1111]/"):
        assert str(usable(url, private=False)) == url
    for url in ("http://127.0.0.1:8430/", "http://localhost:8430/", "http://[::1]:8430/"):
        assert str(usable(url, private=True)) == url
        with pytest.raises(AddressRefused):
            usable(url, private=False)


def answers(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def found(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)


def test_a_name_is_what_it_resolves_to(monkeypatch: pytest.MonkeyPatch) -> None:
    url = usable("https://till.example/", private=False)
    answers(monkeypatch, "8.8.8.8", "8.8.8.8", "2606:4700::1111")
    assert resolved(url, private=False) == ["8.8.8.8", "2606:4700::1111"]
    # One bad one spoils all: which of them is taken would else be the name server's choice.
    for inside in ("127.0.0.1", "10.0.0.1", "::1", "::ffff:10.0.0.1", "fe80::1%eth0"):
        answers(monkeypatch, "8.8.8.8", inside)
        with pytest.raises(AddressRefused):
            resolved(url, private=False)
    answers(monkeypatch, "10.0.0.1")
    assert resolved(url, private=True) == ["10.0.0.1"]
    answers(monkeypatch, "169.254.169.254")
    with pytest.raises(AddressRefused):
        resolved(url, private=True)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "017700000001", "localhost"])
def test_other_ways_to_write_this_machine(host: str) -> None:
    with pytest.raises(AddressRefused):
        resolved(usable(f"https://{host}/", private=False), private=False)


def test_a_name_that_is_none_is_no_fault_of_ours() -> None:
    with pytest.raises(OSError, match="not a host name"):
        resolved(usable(f"https://{'a' * 70}.example/", private=False), private=False)
