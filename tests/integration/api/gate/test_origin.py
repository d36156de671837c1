"""Host names, origins and HTTPS of requests, over real sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from schemas.shops.access import Role
from tests.integration import api_world
from tests.integration.api_world import MENU, World, running
from tests.waiting import in_one_minute

world = api_world.world

PASSWORD = "correct horse battery"
HOME = "https://order.example"
ORDER = json.dumps({"transcript": "a latte", "menu": MENU["id"]})
FORM = "transcript=a+latte&menu=corner-cafe"


def say(world: World, head: str, body: str = "") -> tuple[int, dict[str, str], str]:
    """Send a raw request; return status, lowercase headers and body."""
    own = [f"Authorization: {world.people['ada']['Authorization']}", f"Content-Length: {len(body)}"]
    data = "\r\n".join([*head.strip().splitlines(), *own, "", body])
    with socket.create_connection(("127.0.0.1", world.port), timeout=10) as line:
        line.sendall(data.encode("latin-1"))
        answer = line.makefile("rb")
        status = int(answer.readline().split()[1])
        headers = dict[str, str]()
        while text := answer.readline().decode("latin-1").strip():
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        return status, headers, answer.read(int(headers.get("content-length", 0))).decode()


def get(world: World, *hosts: str, target: str = "/v1/menus", version: str = "1.1") -> tuple[int, str]:
    status, _, body = say(world, "\n".join([f"GET {target} HTTP/{version}", *(f"Host: {h}" for h in hosts)]))
    return status, body


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:80", "localhost.", "127.0.0.1:8420", "127.9.9.9", "[::1]:1", "[0:0::0:1]"],
)
def test_loopback_host_names_are_accepted(world: World, host: str) -> None:
    assert get(world, host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8420", "localhost.evil.example", "127.0.0.1.evil.example",
        "192.168.1.1", "[::2]", "[fe80::1]:8420", "testserver", "xn--lcalhost-54a", "localhostx",
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", ["/v1/menus", "/", "/metrics", "/docs", "/static/none", "/readyz"])
def test_other_host_names_are_rejected(world: World, host: str, target: str) -> None:
    status, body = get(world, host, target=target)
    assert status == 421
    assert json.loads(body)["code"] == "misdirected"


@pytest.mark.parametrize(
    "hosts",
    [
        (), ("localhost", "localhost"), ("localhost", "evil.example"), ("",), ("a@localhost",),
        ("localhost:x",), ("localhost:99999",), ("localhost/evil",), ("local host",), ("[::1",),
        ("[::1%25lo]",), ("..",), ("localhost, evil.example",), (".",), ("l\xf6calhost",),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_request_names_one_host(world: World, hosts: tuple[str, ...], version: str) -> None:
    assert get(world, *hosts, version=version)[0] == 400


@pytest.mark.parametrize(
    "target", ["http://evil.example/v1/menus", "http://localhost/v1/menus", "*", "localhost:80"]
)
def test_a_target_is_a_path(world: World, target: str) -> None:
    assert get(world, "localhost", target=target)[0] == 400


def test_a_probe_may_use_an_address_as_host(world: World) -> None:
    assert get(world, "10.1.2.3:8420", target="/livez") == (200, '{"status":"ok"}')


def test_configured_hosts_are_accepted(tmp_path: Path) -> None:
    with running(tmp_path, hosts="till.local, 192.168.7.7,[fd00::7]", public_url=HOME) as named:
        for host in (
            "till.local",
            "TILL.local.:99",
            "192.168.7.7:1",
            "[fd00:0::7]",
            "order.example",
            "localhost",
        ):
            assert get(named, host)[0] == 200, host
        for host in ("till.local.evil", "192.168.7.8", "example"):
            assert get(named, host)[0] == 421, host


def test_any_host_only_if_configured(tmp_path: Path) -> None:
    with running(tmp_path, hosts="*") as open_to_all:
        assert get(open_to_all, "evil.example")[0] == 200
        assert get(open_to_all)[0] == 400


@pytest.mark.parametrize(
    ("field", "value", "variable"),
    [
        ("hosts", "a b", "SAYCART_HOSTS"),
        ("hosts", "http://a", "SAYCART_HOSTS"),
        ("public_url", "order.example", "SAYCART_PUBLIC_URL"),
        ("public_url", "ftp://order.example", "SAYCART_PUBLIC_URL"),
        ("public_url", "https://", "SAYCART_PUBLIC_URL"),
        ("proxies", "*", "SAYCART_PROXIES"),
        ("proxies", "proxy.local", "SAYCART_PROXIES"),
    ],
)
def test_invalid_settings_prevent_the_start(tmp_path: Path, field: str, value: str, variable: str) -> None:
    with pytest.raises(ValueError, match=variable), running(tmp_path, **{field: value}):
        pass


PAGE, API = "/orders", "/v1/orders"
OURS = "http://127.0.0.1:{port}"


def post(world: World, path: str, *headers: str, host: str = "127.0.0.1:{port}") -> int:
    kind, body = ("application/json", ORDER) if path == API else ("application/x-www-form-urlencoded", FORM)
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Type: {kind}", *headers]
    status, _, answer = say(world, "\n".join(lines).replace("{port}", str(world.port)), body)
    if status == 403:
        assert "cross_site" in answer or "<html" in answer
    return status


@pytest.mark.parametrize("path", [PAGE, API])
@pytest.mark.parametrize(
    "headers",
    [
        ("Sec-Fetch-Site: same-origin",),
        ("Sec-Fetch-Site: none",),
        # A proxy may have changed the Host; the browser knows the real one.
        ("Sec-Fetch-Site: same-origin", "Origin: https://order.example"),
        (f"Origin: {OURS}",),
    ],
)
def test_own_pages_may_post(world: World, path: str, headers: tuple[str, ...]) -> None:
    assert post(world, path, *headers) in (202, 303)


@pytest.mark.parametrize("path", [PAGE, API])
@pytest.mark.parametrize(
    "headers",
    [
        ("Sec-Fetch-Site: cross-site",),
        ("Sec-Fetch-Site: same-site",),
        ("Sec-Fetch-Site: SAME-ORIGIN",),
        ("Sec-Fetch-Site:",),
        ("Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"),
        ("Sec-Fetch-Site: cross-site", f"Origin: {OURS}"),
        ("Origin: null",),
        ("Origin: https://evil.example",),
        ("Origin: http://127.0.0.1",),  # another port is another origin
        ("Origin: https://127.0.0.1:1",),
        ("Origin: http://localhost:{port}",),
        ("Origin: http://127.0.0.1:{port}@evil.example",),
        ("Origin: http://127.0.0.1:{port}.evil.example",),
        ("Origin: file://",),
        ("Origin:",),
        (f"Origin: {OURS}", "Origin: https://evil.example"),
    ],
)
def test_cross_site_pages_may_not_post(world: World, path: str, headers: tuple[str, ...]) -> None:
    before = sum(world.parts.orders.counts().values())
    assert post(world, path, *headers) == 403
    assert sum(world.parts.orders.counts().values()) == before


def test_programs_need_no_origin_for_the_api(world: World) -> None:
    assert post(world, API) == 202
    assert post(world, PAGE) == 403
    assert post(world, "/sign-in") == 403
    assert say(world, "GET / HTTP/1.1\nHost: localhost")[0] == 200


def test_an_unknown_tls_proxy_keeps_the_host(world: World) -> None:
    """It keeps the Host and is not configured as trusted."""
    assert post(world, PAGE, "Origin: https://localhost", host="localhost") == 303
    assert post(world, PAGE, "Origin: https://localhost:444", host="localhost") == 403


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An API with a public HTTPS URL, which trusts only proxies at other addresses than the tests'."""
    home = tmp_path_factory.mktemp("public")
    with running(home, public_url=HOME, proxies="10.0.0.0/8, fd00::/8, 127.0.0.9") as found:
        found.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
        yield found


def test_the_public_url_is_our_origin(public: World) -> None:
    assert post(public, PAGE, f"Origin: {HOME}") == 303  # whatever Host the proxy sends
    assert post(public, PAGE, f"Origin: {HOME}", host="order.example") == 303
    assert post(public, PAGE, f"Origin: {HOME}:443", host="order.example") == 303
    assert post(public, PAGE, "Origin: http://order.example", host="order.example") == 403
    assert post(public, PAGE, f"Origin: {HOME}.evil", host="order.example") == 403


def signed_in(world: World, source: str = "127.0.0.1", **headers: str) -> httpx.Response:
    """Sign in from one of the loopback addresses."""
    with world.browser(source) as http:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return http.post("/sign-in", data={"name": "Ann", "password": PASSWORD}, headers=sent)


def secure(answer: httpx.Response) -> bool:
    assert answer.status_code == 303, answer.text
    return "; Secure" in answer.headers["set-cookie"]


def test_the_public_url_makes_cookies_secure(public: World) -> None:
    assert secure(signed_in(public, Origin=HOME, Host="order.example"))
    assert secure(signed_in(public, Origin=HOME))


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An API behind a proxy at 127.0.0.9."""
    with running(tmp_path_factory.mktemp("behind"), proxies="127.0.0.9") as found:
        found.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
        yield found


FORWARDED = {"X_Forwarded_Proto": "https", "X_Forwarded_For": "203.0.113.7"}


def test_only_the_proxy_is_trusted(behind: World) -> None:
    proxied = {"Origin": behind.url.replace("http:", "https:")}
    assert secure(signed_in(behind, "127.0.0.9", **FORWARDED, **proxied))
    for source in ("127.0.0.1", "127.0.0.8"):
        spoofed = signed_in(behind, source, **FORWARDED)
        assert not secure(spoofed)
    assert not secure(signed_in(behind, "127.0.0.9", X_Forwarded_For="203.0.113.7"))


def test_no_proxy_is_trusted_by_default(world: World) -> None:
    world.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
    assert not secure(signed_in(world, **FORWARDED))


def test_limits_ignore_spoofed_addresses(tmp_path: Path) -> None:
    with running(tmp_path, proxies="127.0.0.9", address_requests_per_minute=1) as behind:

        def asked(source: str, *forwarded: str) -> list[int]:
            with behind.browser(source) as http:
                return [http.get("/docs", headers={"X-Forwarded-For": at}).status_code for at in forwarded]

        in_one_minute()
        assert asked("127.0.0.1", "203.0.113.1", "203.0.113.2") == [200, 429]
        assert asked("127.0.0.9", "203.0.113.1", "203.0.113.2", "9.9.9.9, 203.0.113.2") == [200, 200, 429]
