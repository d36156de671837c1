"""A real OpenID Connect provider on loopback: oidc-provider-mock, built on authlib's server side.

It does not check PKCE, so this module does. Tests can make it lie: in an ID token's claims, in its signature,
or in whole responses.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import flask
import httpx
import oidc_provider_mock
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

CLIENT_ID, SECRET = "saycart", "s3cret of ours/+"

Claims = dict[str, Any]
# Shared, and without certificates, whose loading would take longer than everything else.
_HTTP = httpx.Client(verify=False)


@dataclass
class Asked:
    """A request to the provider."""

    path: str
    fields: dict[str, str]
    client: str


@dataclass
class OidcProvider:
    """`lie` changes the claims of ID tokens, `sign` signs them, `answers` replaces the responses of a path,
    `metadata` and `keys` change what it publishes."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    lie: Callable[[Claims], Claims | None] | None = None
    sign: Callable[[Claims, RSAKey], str] | None = None
    answers: dict[str, Callable[[], flask.Response]] = field(default_factory=dict)
    metadata: Claims = field(default_factory=dict)
    keys: Callable[[Claims], Claims] | None = None
    challenges: dict[str, str] = field(default_factory=dict)

    def knows(self, subject: str, **claims: Any) -> None:
        """Register a user."""
        _HTTP.put(f"{self.url}/users/{subject}", json=claims).raise_for_status()

    def honest(self) -> None:
        """Forget every lie."""
        self.lie = self.sign = self.keys = None
        self.answers.clear()
        self.metadata.clear()
        self.asked.clear()

    def count(self, path: str) -> int:
        return sum(one.path == path for one in self.asked)

    def settings(self, *, only: bool = False, **more: Any) -> dict[str, Any]:
        query = urlencode({"client_id": CLIENT_ID, "name": "Harbor Login", "only": only})
        return {"oidc_url": f"{self.url}?{query}", "oidc_client_secret": SECRET, **more}

    def consent(self, address: str, subject: str) -> str:
        """Sign in and consent; return the redirect URL."""
        answer = _HTTP.post(address, data={"sub": subject})
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    def _before(self) -> flask.Response | None:
        asked = flask.request
        fields = {**asked.args.to_dict(), **asked.form.to_dict()}
        self.asked.append(Asked(asked.path, fields, asked.headers.get("authorization", "")))
        if asked.path in self.answers:
            return self.answers[asked.path]()
        if asked.path == "/oauth2/token":
            shown = base64.urlsafe_b64encode(hashlib.sha256(fields["code_verifier"].encode()).digest())
            if self.challenges.get(fields["code"]) != shown.decode().rstrip("="):
                return flask.make_response({"error": "invalid_grant"}, 400)
        return None

    def _after(self, answer: flask.Response) -> flask.Response:
        path, ok = flask.request.path, answer.status_code < 400
        if path == "/oauth2/authorize" and flask.request.method == "POST" and ok:
            sent = parse_qs(urlsplit(answer.headers["location"]).query)
            assert flask.request.args["code_challenge_method"] == "S256"
            for code in sent.get("code", []):
                self.challenges[code] = flask.request.args["code_challenge"]
        if path == "/oauth2/token" and ok and path not in self.answers:
            answer.set_data(json.dumps(self._twisted(answer.get_json())))
        if path == "/.well-known/openid-configuration" and ok and self.metadata:
            answer.set_data(json.dumps(answer.get_json() | self.metadata))
        if path == "/jwks" and ok and self.keys:
            answer.set_data(json.dumps(self.keys(answer.get_json())))
        return answer

    def _twisted(self, answer: Claims) -> Claims:
        if not (self.lie or self.sign):
            return answer
        key = RSAKey.import_key(flask.g.oidc_provider_mock_storage.jwk.as_dict(is_private=True))
        head, payload, _ = answer["id_token"].split(".")
        claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
        if self.lie:
            claims = self.lie(claims) or claims
        header = json.loads(base64.urlsafe_b64decode(head + "=="))
        answer["id_token"] = self.sign(claims, key) if self.sign else jwt.encode(header, claims, key)
        return answer


@contextmanager
def oidc_provider() -> Iterator[OidcProvider]:
    """Run a provider during the block."""
    provider = OidcProvider()
    app = oidc_provider_mock.app(require_nonce=True)
    app.debug = False
    # Before the product's own hooks, after all others.
    app.before_request(provider._before)
    app.after_request(provider._after)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        # authlib's server side requires https; this one is on loopback.
        patch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join(5)
            server.server_close()


def address_in(answer: httpx.Response) -> str:
    """Return the URL to which the page redirects."""
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', answer.text)
    assert found is not None, answer.text
    return unescape(found[1])
