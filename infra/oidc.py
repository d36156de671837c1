"""Sign-in through one OpenID Connect provider.

Authorization code flow with PKCE (RFC 7636), state and nonce. All three derive from the secret in the
browser's cookie, so nothing stored here completes a sign-in. The discovery document and the keys are kept for
an hour. Every exchange is bounded in time and length and follows no redirects; no token is logged.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import ssl
import time
from typing import Any
from urllib.parse import quote, urlsplit

import anyio
import httpx
import structlog
from authlib.common.urls import add_params_to_uri
from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from infra.oidc_token import UnknownKey, checked
from infra.settings_oidc import OidcProvider, is_safe
from schemas.errors import NotLetIn, ProviderAway
from schemas.shops.staff import Identity

log = structlog.get_logger(__name__)

CONNECT_S = 3.0
TOTAL_S = 10.0
KEPT_S = 3600.0
MAX_BYTES = 512_000
# The machine's certificates, not httpx's: a company's provider often has a private one.
_TLS = ssl.create_default_context()
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
# Uncompressed, so that `MAX_BYTES` bounds the content too.
_HEADERS = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "saycart"}


class Provider:
    """The configured provider, for one event loop. Every coroutine may raise ProviderAway."""

    def __init__(self, provider: OidcProvider, client_secret: str) -> None:
        self._config = provider
        self._client_secret = client_secret
        self._kept: dict[str, tuple[float, dict[str, Any]]] = {}

    @staticmethod
    def began(token: str, state: str) -> bool:
        """Return whether an answer with `state` belongs to the browser whose cookie holds `token`."""
        return hmac.compare_digest(_derived(token, "state").encode(), state.encode())

    async def address(self, token: str, redirect_uri: str) -> str:
        """Return the URL to sign in at; `token` is the secret of this attempt."""
        scopes = " ".join(dict.fromkeys(["openid", *self._config.scope.split()]))
        return str(
            prepare_grant_uri(
                (await self._discovery())["authorization_endpoint"],
                self._config.client_id,
                "code",
                redirect_uri,
                scopes,
                _derived(token, "state"),
                nonce=_derived(token, "nonce"),
                code_challenge=create_s256_code_challenge(_derived(token, "verifier")),
                code_challenge_method="S256",
            )
        )

    async def identify(self, token: str, redirect_uri: str, code: str, issuer: str | None) -> Identity:
        """Redeem a code for the person's identity. `issuer` is that of the callback (RFC 9207).

        Raises:
            NotLetIn: another provider's response, a refused code, or an invalid ID token.
        """
        about = await self._discovery()
        named = about.get("authorization_response_iss_parameter_supported") is True
        if issuer != self._config.issuer and (named or issuer is not None):
            raise self._refused("the answer names another issuer")
        got = await self._redeemed(about, code, redirect_uri, _derived(token, "verifier"))
        for _ in range(2):
            keys = await self._get("keys", about["jwks_uri"])
            try:
                claims = checked(
                    got["id_token"],
                    keys,
                    issuer=self._config.issuer,
                    client_id=self._config.client_id,
                    nonce=_derived(token, "nonce"),
                    access_token=got.get("access_token"),
                )
            except UnknownKey:
                self._kept.pop("keys")  # a newer one may have been published
                continue
            except ValueError as error:
                raise self._refused(str(error)) from None
            return Identity.of(claims, got["id_token"])
        raise self._refused("signed by a key that the provider does not publish")

    async def sign_out_address(self, id_token: str, back: str) -> str | None:
        """Return the URL to sign out at, which leads back to `back`; None if there is none."""
        where = (await self._discovery()).get("end_session_endpoint")
        if not is_safe(where):
            return None
        sent = [("client_id", self._config.client_id), ("post_logout_redirect_uri", back)]
        hint = [("id_token_hint", id_token)] if id_token else []
        return str(add_params_to_uri(where, [*hint, *sent]))

    async def _discovery(self) -> dict[str, Any]:
        issuer = self._config.issuer
        about = await self._get("about", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if about.get("issuer") == issuer and all(is_safe(about.get(name)) for name in _ENDPOINTS):
            return about
        self._kept.pop("about")
        log.error("oidc.bad_discovery", issuer=issuer, named=str(about.get("issuer"))[:200])
        raise self._away()

    async def _redeemed(
        self, about: dict[str, Any], code: str, redirect_uri: str, verifier: str
    ) -> dict[str, Any]:
        """Redeem a code; return the token endpoint's response."""
        body = prepare_token_request(
            "authorization_code", "", redirect_uri, code=code, code_verifier=verifier
        )
        takes = about.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        identity, method = (self._config.client_id, self._client_secret), "client_secret_post"
        if not self._client_secret:
            method = "none"
        elif "client_secret_basic" in takes:
            # RFC 6749, 2.3.1: what goes into the header is encoded first.
            identity, method = (
                (quote(identity[0], safe=""), quote(identity[1], safe="")),
                "client_secret_basic",
            )
        headers = {"content-type": "application/x-www-form-urlencoded"}
        url, headers, body = ClientAuth(*identity, method).prepare(
            "POST", about["token_endpoint"], headers, body
        )
        status, got = await self._ask("POST", url, headers, body)
        if status != 200:
            # Log only errors of a fixed list (RFC 6749, 5.2).
            error = got.get("error")
            known = error in ("invalid_grant", "invalid_client", "unauthorized_client")
            raise self._refused(f"the code was refused: {error if known else 'other'}")
        if not isinstance(got.get("id_token"), str):
            raise self._refused("there is no ID token")
        return got

    async def _get(self, name: str, url: str) -> dict[str, Any]:
        at, kept = self._kept.get(name, (0.0, None))
        if kept is not None and time.monotonic() - at < KEPT_S:
            return kept
        status, found = await self._ask("GET", url, {})
        if status != 200:
            raise self._away()
        self._kept[name] = (time.monotonic(), found)
        return found

    async def _ask(
        self, method: str, url: str, headers: dict[str, str], body: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Send one request, with a total timeout: a timeout of httpx restarts with every byte."""
        read = b""
        try:
            with anyio.fail_after(TOTAL_S):
                async with (
                    httpx.AsyncClient(
                        timeout=httpx.Timeout(TOTAL_S, connect=CONNECT_S), trust_env=False, verify=_TLS
                    ) as http,
                    http.stream(method, url, headers={**_HEADERS, **headers}, content=body) as answer,
                ):
                    async for piece in answer.aiter_raw():
                        read += piece
                        if len(read) > MAX_BYTES:
                            raise ValueError("its answer is too long")
            found = json.loads(read)
            if not isinstance(found, dict):
                raise ValueError("its answer is not an object")
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RecursionError) as error:
            # TimeoutError is an OSError. Without the message, which may have the URL with its query.
            log.warning("oidc.away", host=urlsplit(url).netloc, error=type(error).__name__)
            raise self._away() from None
        return answer.status_code, found

    def _away(self) -> ProviderAway:
        return ProviderAway(f"{self._config.name} is not responding")

    def _refused(self, reason: str) -> NotLetIn:
        """Return the error for the person, and log the reason, which has nothing of a token."""
        log.warning("oidc.not_believed", reason=reason)
        return NotLetIn(f"The answer from {self._config.name} couldn't be verified")


def _derived(token: str, use: str) -> str:
    return hmac.new(token.encode(), f"saycart oidc {use}".encode(), hashlib.sha256).hexdigest()
