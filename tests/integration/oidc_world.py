"""An API with sign-in through a real OpenID Connect provider, both over HTTP, and browsers for it.

Test modules import all of its fixtures by name, like those of `api_world`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from services.web.staff.staff import COOKIE
from tests.integration.api_world import World, running
from tests.integration.signing import cheap
from tests.servers.oidc_provider import OidcProvider, address_in, oidc_provider
from tests.stand_ins import TESTER


@pytest.fixture(scope="module")
def at_work() -> Iterator[OidcProvider]:
    with oidc_provider() as provider:
        provider.knows("ann-1", preferred_username="Ann", email="ann@example.com", email_verified=True)
        yield provider


@pytest.fixture
def provider(at_work: OidcProvider) -> OidcProvider:
    at_work.honest()
    return at_work


@pytest.fixture(autouse=True)
def nothing_kept(shared: World) -> Iterator[None]:
    """Reset the provider's metadata after each test."""
    yield
    shared.parts.provider._kept.clear()


@pytest.fixture(scope="module")
def shared(at_work: OidcProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An API where Bob is bound to the provider's `bob-1`; `ann-1` is not bound."""
    with running(tmp_path_factory.mktemp("oidc"), **at_work.settings()) as world:
        bind(world, at_work, "Bob", "bob-1")
        yield world


@pytest.fixture
def world(shared: World, monkeypatch: pytest.MonkeyPatch) -> World:
    cheap(monkeypatch)
    return shared


@pytest.fixture
def strict(at_work: OidcProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """An API behind a proxy: bound people have no password, everyone else needs a second factor."""
    cheap(monkeypatch)
    with running(tmp_path, **at_work.settings(only=True), proxies="127.0.0.1") as world:
        world.parts.shops.require_second_step("main", True, by=TESTER)
        yield world


def bind(world: World, provider: OidcProvider, name: str, subject: str) -> None:
    """Create an account for a subject of the provider."""
    world.parts.staff.add(name, None)
    world.parts.provider_accounts.invite(name, provider.url, subject=subject, by=TESTER)


@contextmanager
def browser(world: World) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=world.url, headers={"Origin": world.url}, timeout=20, verify=False) as http:
        yield http


def begin(http: httpx.Client, after: str = "/review") -> str:
    """Press the button; return the provider's URL."""
    return address_in(http.post("/sign-in/oidc", data={"next": after}))


def come_back(
    http: httpx.Client, provider: OidcProvider, subject: str, after: str = "/review"
) -> httpx.Response:
    return http.get(provider.consent(begin(http, after), subject))


def audited(world: World, action: str) -> list[tuple[str, str, str | None]]:
    return [(one.actor, one.object_id, one.after) for one in world.parts.audit.newest(50, action=action)]


def refused(answer: httpx.Response, status: int, words: str) -> None:
    """Assert that a page explains the refusal with a link to go on, and sets no session."""
    assert answer.status_code == status, answer.text
    assert words in answer.text
    assert 'href="/sign-in"' in answer.text
    assert "form-action 'self'" in answer.headers["content-security-policy"]
    assert not any(one.startswith(COOKIE) for one in answer.headers.get_list("set-cookie"))


def query_of(url: str) -> dict[str, str]:
    return {name: one[0] for name, one in parse_qs(urlsplit(url).query).items()}
