"""Responses of a provider or its impostor over HTTP. `test_oidc_token.py` tests tokens."""

from __future__ import annotations

import asyncio
import gzip
import json
import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import flask
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from pydantic import ValidationError

from infra import oidc
from infra.oidc import Provider
from infra.settings_oidc import OidcProvider as Registration
from schemas.errors import NotLetIn, ProviderAway
from schemas.shops.staff import Identity
from tests.integration import oidc_world
from tests.servers.oidc_provider import CLIENT_ID, SECRET, Claims, OidcProvider

BACK = "http://127.0.0.1:8420/sign-in/oidc/callback"
OTHER = RSAKey.generate_key(2048, {"kid": "other"})
METADATA = "/.well-known/openid-configuration"
at_work, there = oidc_world.at_work, oidc_world.provider


def ours(issuer: str, secret: str = SECRET) -> Provider:
    return Provider(Registration(issuer=issuer, client_id=CLIENT_ID), secret)


def sign_in(there: OidcProvider, ours_: Provider | None = None) -> Identity:
    """Run the whole flow without the API."""

    async def flow() -> Identity:
        us, token = ours_ or ours(there.url), secrets.token_urlsafe(32)
        back = there.consent(await us.address(token, BACK), "ann-1")
        return await us.identify(token, BACK, parse_qs(urlsplit(back).query)["code"][0], None)

    return asyncio.run(flow())


def test_rotated_keys_are_fetched(there: OidcProvider) -> None:
    us = ours(there.url)
    sign_in(there, us)
    there.sign = lambda claims, _: jwt.encode({"alg": "RS256", "kid": "other"}, claims, OTHER)
    with pytest.raises(NotLetIn):
        sign_in(there, us)
    there.honest()
    there.sign = lambda claims, _: jwt.encode({"alg": "RS256", "kid": "other"}, claims, OTHER)
    there.keys = lambda sent: {"keys": [*sent["keys"], OTHER.as_dict(private=False)]}
    assert sign_in(there, us).subject == "ann-1"
    assert (there.count("/jwks"), there.count(METADATA)) == (1, 0)


def text(body: str | bytes, status: int = 200, **headers: str) -> Callable[[], flask.Response]:
    def answer() -> flask.Response:
        return flask.make_response(body, status, {"content-type": "application/json", **headers})

    return answer


@pytest.mark.parametrize("path", [METADATA, "/jwks", "/oauth2/token"])
@pytest.mark.parametrize(
    "answer",
    [
        text("<html>"),
        text("[]"),
        text("[" * 100_000),
        text(" " * (oidc.MAX_BYTES + 1)),
        text("", 302, location="http://127.0.0.1:1/elsewhere"),
        text(gzip.compress(json.dumps({"issuer": "x" * 1_000_000}).encode()), **{"content-encoding": "gzip"}),
        text(b"\xff\xfe{}"),
    ],
)
def test_malformed_documents_are_rejected(
    there: OidcProvider, path: str, answer: Callable[[], flask.Response]
) -> None:
    there.answers[path] = answer
    with pytest.raises(ProviderAway):
        sign_in(there)


@pytest.mark.parametrize(
    "lie",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"token_endpoint": None},
        {"token_endpoint": "http://169.254.169.254/latest"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "https://[::1"},
    ],
)
def test_unsafe_provider_metadata_is_rejected(there: OidcProvider, lie: Claims) -> None:
    there.metadata |= lie
    with pytest.raises(ProviderAway):
        sign_in(there)


def test_invalid_token_responses_are_rejected(there: OidcProvider) -> None:
    for answer in (text('{"access_token": "x"}'), text('{"id_token": 7}'), text('{"error": "<b>"}', 400)):
        there.answers["/oauth2/token"] = answer
        with pytest.raises(NotLetIn) as refused:
            sign_in(there)
        assert "<b>" not in str(refused.value)


def test_slow_and_unreachable_providers_time_out(
    there: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dripping() -> flask.Response:
        def drops() -> Iterator[bytes]:
            for _ in range(40):
                yield b" "
                time.sleep(0.05)

        return flask.Response(drops(), mimetype="application/json")

    monkeypatch.setattr(oidc, "TOTAL_S", 0.3)
    there.answers[METADATA] = dripping
    begun = time.monotonic()
    with pytest.raises(ProviderAway):
        sign_in(there)
    assert time.monotonic() - begun < 2, "each byte would begin a timeout of httpx anew"
    with pytest.raises(ProviderAway):
        sign_in(there, ours("http://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("secret", "takes", "shown"),
    [
        ("", ["none"], (False, None)),
        ("s3cret+", ["client_secret_post"], (False, "s3cret+")),
        ("s3cret+", ["client_secret_post", "client_secret_basic"], (True, None)),
        ("s3cret+", None, (True, None)),
    ],
)
def test_the_secret_is_sent_as_the_provider_supports(
    there: OidcProvider, secret: str, takes: list[str] | None, shown: tuple[bool, str | None]
) -> None:
    there.metadata["token_endpoint_auth_methods_supported"] = takes
    there.answers["/oauth2/token"] = text("{}", 400)  # this one takes no public clients
    with pytest.raises(NotLetIn):
        sign_in(there, ours(there.url, secret))
    (asked,) = (one for one in there.asked if one.path == "/oauth2/token")
    assert (asked.client.startswith("Basic "), asked.fields.get("client_secret")) == shown
    assert asked.client in ("", "Basic " + b64encode(b"saycart:s3cret%2B").decode())


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "http://login.example"},
        {"issuer": "login.example"},
        {"issuer": "https://login.example?x=1"},
        {"issuer": "https://"},
        {"client_id": ""},
    ],
)
def test_invalid_registrations_are_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Registration(**{"issuer": "https://login.example", "client_id": "saycart", **wrong})
