"""One OpenID Connect provider: where it sends people, what it tells of them, and where they sign out.

Authorization code flow with PKCE (RFC 7636), state and nonce; all three are made from the one secret that the
browser's cookie holds, so nothing that is stored here completes a sign-in. What the provider tells of itself
and its keys are kept for an hour. Every exchange has an end, a length, and no redirects; no token is logged.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

import anyio
import httpx
import structlog

from infra.addresses import LOOPBACK

log = structlog.get_logger(__name__)

CONNECT_S = 3.0
TOTAL_S = 10.0
KEPT_S = 3600.0
# A token that is signed by an unknown key has the keys fetched again, no oftener than this.
NEW_KEYS_S = 60.0
MAX_BYTES = 512_000
# Sign-ins of one process that ask the provider at once. Each may last for `TOTAL_S`.
AT_ONCE = 20
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class ProviderAway(Exception):
    """It does not answer, not in time, or not what a provider answers; worth another try."""


class ProviderBusy(Exception):
    """As many as may ask it at this moment; nothing was begun."""


class NotBelieved(Exception):
    """It refused the code, or what it says of a person does not hold. The message is for logs: a short
    reason, and nothing of a token."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What saycart is to the provider.

    Raises:
        ValueError: an issuer that is no https address, or no client id. On loopback http will do.
    """

    issuer: str
    client_id: str
    secret: str = field(default="", repr=False)
    scopes: str = "openid"

    def __post_init__(self) -> None:
        parts = urlsplit(self.issuer)
        if not _is_safe(self.issuer, self.issuer) or parts.query or parts.fragment:
            raise ValueError("the issuer is no https address")
        if not self.client_id:
            raise ValueError("there is no client id")


def new_attempt() -> str:
    """The secret of one sign-in, for the browser's cookie: 256 random bits."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What one sign-in shows to the provider, and expects to see again."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def of(cls, token: str) -> Secrets:
        """Those that belong to the secret of the browser's cookie."""

        def made(use: str) -> str:
            return hmac.new(token.encode(), f"saycart oidc {use}".encode(), hashlib.sha256).hexdigest()

        return cls(made("state"), made("nonce"), made("verifier"))


@dataclass(frozen=True, slots=True)
class Told:
    """What an ID token says, after it was checked, and the token itself, for signing out by it."""

    claims: Mapping[str, Any]
    id_token: str = field(repr=False)


class Provider:
    """Every call may raise ProviderAway and ProviderBusy beside what it names. For one event loop."""

    def __init__(self, registration: Registration) -> None:
        self._us = registration
        self._kept: dict[str, tuple[float, dict[str, Any]]] = {}
        self._inside = 0

    async def address(self, token: str, redirect_uri: str) -> str:
        """Where a person signs in there; `token` is the secret of this attempt."""
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        about, ours = await self._about(), Secrets.of(token)
        return str(
            prepare_grant_uri(
                about["authorization_endpoint"],
                self._us.client_id,
                "code",
                redirect_uri,
                self._us.scopes,
                ours.state,
                nonce=ours.nonce,
                code_challenge=create_s256_code_challenge(ours.verifier),
                code_challenge_method="S256",
            )
        )

    async def expects(self, issuer: str | None) -> bool:
        """Whether an answer that names this issuer, or none, may be the provider's (RFC 9207)."""
        if issuer is not None:
            return issuer == self._us.issuer
        return (await self._about()).get("authorization_response_iss_parameter_supported") is not True

    async def told(self, token: str, redirect_uri: str, code: str) -> Told:
        """Give a code in, once, for what the provider says of the person.

        Raises:
            NotBelieved: it refuses the code, or its ID token does not hold.
        """
        from infra.oidc_token import UnknownKey, checked

        about, ours = await self._about(), Secrets.of(token)
        got = await self._exchange(about, code, redirect_uri, ours.verifier)
        for fresh in (False, True):
            keys = await self._get("keys", about["jwks_uri"], fresh=fresh)
            try:
                claims = checked(
                    got["id_token"],
                    keys,
                    issuer=self._us.issuer,
                    client_id=self._us.client_id,
                    nonce=ours.nonce,
                    access_token=got.get("access_token"),
                )
            except UnknownKey as error:
                if fresh:
                    raise NotBelieved("it was signed by a key that the provider does not name") from error
                continue
            except ValueError as error:
                raise NotBelieved(str(error)) from error
            return Told(claims, got["id_token"])
        raise AssertionError("unreachable")

    async def leaving(self, id_token: str, back: str) -> str | None:
        """Where a person signs out at the provider and comes back from; None where it has no such place."""
        from authlib.common.urls import add_params_to_uri

        where = (await self._about()).get("end_session_endpoint")
        if not isinstance(where, str) or not _is_safe(where, self._us.issuer):
            return None
        told = [("client_id", self._us.client_id), ("post_logout_redirect_uri", back)]
        return str(add_params_to_uri(where, [*([("id_token_hint", id_token)] if id_token else []), *told]))

    async def _about(self) -> dict[str, Any]:
        """What it tells of itself (OpenID Connect Discovery)."""
        us = self._us.issuer
        about = await self._get("about", f"{us.rstrip('/')}/.well-known/openid-configuration")
        if about.get("issuer") == us and all(_is_safe(about.get(name), us) for name in _ENDPOINTS):
            return about
        self._kept.pop("about")
        log.error("oidc.bad_discovery", issuer=us, named=str(about.get("issuer"))[:200])
        raise ProviderAway("it names another issuer, or an endpoint that is no https address")

    async def _exchange(
        self, about: Mapping[str, Any], code: str, redirect_uri: str, verifier: str
    ) -> dict[str, Any]:
        from authlib.oauth2.auth import ClientAuth
        from authlib.oauth2.rfc6749.parameters import prepare_token_request

        body = prepare_token_request(
            "authorization_code", "", redirect_uri, code=code, code_verifier=verifier
        )
        takes = about.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        basic = "client_secret_basic" in takes
        method = "none" if not self._us.secret else "client_secret_basic" if basic else "client_secret_post"
        # RFC 6749, 2.3.1: what goes into the header is encoded first.
        who = [quote(text, safe="") if method.endswith("basic") else text for text in self._identity()]
        headers = {"content-type": "application/x-www-form-urlencoded"}
        url, headers, body = ClientAuth(*who, method).prepare("POST", about["token_endpoint"], headers, body)
        status, got = await self._ask("POST", url, headers, body)
        if status != 200:
            # Of a fixed list (RFC 6749, 5.2); what else it may say is not for our logs.
            error = got.get("error")
            known = error if error in ("invalid_grant", "invalid_client", "unauthorized_client") else "other"
            raise NotBelieved(f"the code was refused: {known}")
        if not isinstance(got.get("id_token"), str):
            raise NotBelieved("there is no ID token")
        return got

    def _identity(self) -> tuple[str, str]:
        return self._us.client_id, self._us.secret

    async def _get(self, name: str, url: str, *, fresh: bool = False) -> dict[str, Any]:
        at, kept = self._kept.get(name, (0.0, None))
        age_s = time.monotonic() - at
        if kept is not None and age_s < (NEW_KEYS_S if fresh else KEPT_S):
            return kept
        status, found = await self._ask("GET", url, {})
        if status != 200:
            raise ProviderAway(f"status {status}")
        self._kept[name] = (time.monotonic(), found)
        return found

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        """One exchange, whole within `TOTAL_S`: a timeout of httpx begins again with every byte."""
        if self._inside >= AT_ONCE:
            raise ProviderBusy
        self._inside += 1
        # Nothing is unpacked, so that the length is what it is.
        plain = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "saycart"}
        try:
            with anyio.fail_after(TOTAL_S):
                async with (
                    httpx.AsyncClient(
                        timeout=httpx.Timeout(TOTAL_S, connect=CONNECT_S),
                        follow_redirects=False,
                        trust_env=False,
                        verify=_trusted(),
                    ) as http,
                    http.stream(method, url, headers={**plain, **headers}, content=body) as answer,
                ):
                    read = b""
                    async for piece in answer.aiter_raw():
                        read += piece
                        if len(read) > MAX_BYTES:
                            raise ProviderAway("its answer is too long")
            found = _json_object(read)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            # TimeoutError is an OSError. The kind alone: drivers put addresses with their query into words.
            log.warning("oidc.away", host=urlsplit(url).netloc, error=type(error).__name__)
            raise ProviderAway(type(error).__name__) from None
        finally:
            self._inside -= 1
        return answer.status_code, found


def _json_object(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def _is_safe(url: object, issuer: str) -> bool:
    """Whether what goes there is encrypted, or stays on this machine as its issuer does."""
    if not isinstance(url, str) or not url.isprintable():
        return False
    try:
        parts, home = urlsplit(url), urlsplit(issuer)
        plain = parts.scheme == "http" and parts.hostname in LOOPBACK and home.hostname in LOOPBACK
    except ValueError:
        return False
    return bool(parts.hostname) and (parts.scheme == "https" or plain)


@cache
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()
