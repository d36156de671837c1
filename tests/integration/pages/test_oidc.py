"""Sign-in through an OpenID Connect provider over HTTP: the whole flow, attacks, and sign-out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import structlog

from services.storage.people import attempts
from services.storage.people.attempts import WIDE
from services.web.staff.provider import CALLBACK, FLOW_COOKIE
from services.web.staff.staff import COOKIE
from tests.integration import oidc_world
from tests.integration.api_world import World, running
from tests.integration.oidc_world import audited, begin, browser, come_back, query_of, refused
from tests.integration.signing import PASSWORD, csrf_in
from tests.servers.oidc_provider import SECRET, OidcProvider, address_in
from tests.stand_ins import TESTER

at_work, provider, nothing_kept = oidc_world.at_work, oidc_world.provider, oidc_world.nothing_kept
shared, world, strict = oidc_world.shared, oidc_world.world, oidc_world.strict


def test_signing_in_and_out(world: World, provider: OidcProvider) -> None:
    world.parts.staff.add("Cat", None)
    provider.knows("cat-1", email="Cat@example.com", email_verified=True)
    world.parts.provider_accounts.invite("Cat", provider.url, email="cat@example.com", by=TESTER)
    with browser(world) as http:
        sent = http.get("/review/stats?days=7")
        assert "Sign in with Harbor Login" in http.get(sent.headers["location"]).text
        answer = http.post("/sign-in/oidc", data={"next": "/review/stats?days=7"})
        asked = query_of(address_in(answer))
        assert asked["redirect_uri"] == f"{world.url}{CALLBACK}"
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        assert asked["scope"] == "openid email profile"
        assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
        assert "form-action 'self'" in answer.headers["content-security-policy"]
        done = http.get(provider.consent(address_in(answer), "cat-1"))
        assert (done.status_code, done.headers["location"]) == (303, "/review/stats?days=7")
        assert FLOW_COOKIE not in http.cookies
        assert "Cat" in http.get("/review").text
        assert "Harbor Login" in http.get("/account").text
        provider.asked.clear()
        come_back(http, provider, "cat-1")
    assert [one.path for one in provider.asked if one.path != "/oauth2/authorize"] == ["/oauth2/token"]
    assert audited(world, "account.bound")[0][:2] == ("staff:Cat", "Cat")
    assert ("staff:Cat", "Cat", f'{{"issuer":"{provider.url}"}}') in audited(world, "sign_in.by_provider")


def test_uninvited_people_get_no_account(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        refused(come_back(http, provider, "ann-1"), 403, "You have no invitation here")
    assert "Ann" not in [one.name for one in world.parts.staff.list()]
    entry = f'{{"issuer":"{provider.url}","reason":"unknown"}}'
    assert audited(world, "sign_in.refused")[-1] == ("oidc:ann-1", "ann-1", entry)


def test_a_disabled_account_can_not_sign_in(world: World, provider: OidcProvider) -> None:
    oidc_world.bind(world, provider, "Hal", "hal-1")
    with browser(world) as http:
        come_back(http, provider, "hal-1")
        world.parts.staff.disable("Hal")
        assert http.get("/review").status_code == 303
        refused(come_back(http, provider, "hal-1"), 403, "is shut")


def test_passwords_may_be_disabled_for_bound_accounts(strict: World, provider: OidcProvider) -> None:
    for name in ("Cat", "Zoe"):
        strict.parts.staff.add(name, PASSWORD)
    strict.parts.provider_accounts.invite("Cat", provider.url, email="ann@example.com", by=TESTER)
    with browser(strict) as http:

        def by_password(name: str) -> int:
            http.cookies.clear()
            return http.post("/sign-in", data={"name": name, "password": PASSWORD}).status_code

        assert by_password("Cat") == 303, "an invitation is no binding yet"
        assert come_back(http, provider, "ann-1").status_code == 303
        # The provider is responsible for the second factor of its users, and only of them.
        assert http.get("/review").status_code == 200
        assert by_password("Cat") == 401
        assert by_password("Zoe") == 303
        assert http.get("/review").headers["location"] == "/account/second-step"


def test_without_a_provider_there_is_no_button(tmp_path: Path) -> None:
    with running(tmp_path) as world, browser(world) as http:
        assert "oidc" not in http.get("/sign-in").text
        assert http.post("/sign-in/oidc", data={"next": "/"}).status_code == 404
        assert http.get(CALLBACK).status_code == 404


def test_the_cookie_of_a_pending_sign_in(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        answer = http.post("/sign-in/oidc", data={"next": "/review"})
        (cookie,) = (one for one in answer.headers.get_list("set-cookie") if one.startswith(FLOW_COOKIE))
        for mark in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=600"):
            assert mark in cookie
        # The provider sees nothing that is in the cookie.
        assert secret_in(cookie) not in address_in(answer)
        for after in ("https://evil.example/", "/" + "a" * 5000):
            assert come_back(http, provider, "bob-1", after).headers["location"] == "/review"
    done = httpx.post(
        f"{world.url}/sign-in/oidc", data={"next": "/"}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert (done.status_code, "set-cookie" in done.headers) == (403, False)


def secret_in(cookie: str) -> str:
    return cookie.partition("=")[2].strip('"').partition(".")[0]


def test_behind_a_proxy_the_callback_uses_https(strict: World) -> None:
    headers = {"X-Forwarded-Proto": "https", "Origin": strict.url.replace("http:", "https:")}
    answer = httpx.post(f"{strict.url}/sign-in/oidc", data={"next": "/review"}, headers=headers)
    assert answer.headers["set-cookie"].startswith(f"__Host-{FLOW_COOKIE}=")
    assert query_of(address_in(answer))["redirect_uri"] == headers["Origin"] + CALLBACK


def test_no_log_line_has_secrets(
    world: World, provider: OidcProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with structlog.testing.capture_logs() as lines, browser(world) as http:
        back = provider.consent(begin(http), "bob-1")
        token = http.cookies[FLOW_COOKIE].strip('"').partition(".")[0]
        assert http.get(back).status_code == 303
        provider.lie = lambda claims: {**claims, "aud": "another"}
        refused(come_back(http, provider, "bob-1"), 403, "be verified")
        where = address_in(http.post("/sign-out", data={"csrf": csrf_in(http.get("/review"))}))
    assert "oidc.not_believed" in str(lines)
    # Ignore the logs of the provider and of this test's client.
    ours = [one for one in caplog.records if one.name not in ("werkzeug", "oidc_provider_mock")]
    text = str(lines) + "".join(one.getMessage() for one in ours if provider.url in one.getMessage())
    sent = next(one for one in provider.asked if one.path == "/oauth2/token").fields["code_verifier"]
    for secret in (token, sent, query_of(back)["code"], query_of(where)["id_token_hint"], SECRET):
        assert secret not in text


def test_a_callback_is_bound_to_its_browser(world: World, provider: OidcProvider) -> None:
    """An attacker sends a colleague the callback for the attacker's account, or forges the state."""
    with browser(world) as mine, browser(world) as theirs:
        back = provider.consent(begin(mine), "bob-1")
        refused(theirs.get(back), 400, "started in this browser")
        begin(theirs)
        refused(theirs.get(back), 400, "started in this browser")
        refused(mine.get(back.replace(query_of(back)["state"], "0" * 64)), 400, "started in this browser")
        for odd in ("", "?state=", "?code=x", "?state=%C3%A9&code=x"):
            refused(mine.get(CALLBACK + odd), 400, "started in this browser")
        assert provider.count("/oauth2/token") == 0
        # The attempts don't interrupt the flow that was started here.
        kept = {"Cookie": f"{FLOW_COOKIE}={mine.cookies[FLOW_COOKIE]}"}
        assert mine.get(back).status_code == 303
    # A replay in the same browser fails: the provider accepts a code once.
    refused(httpx.get(back, headers=kept), 403, "be verified")


def test_pkce_rejects_the_code_of_another_sign_in(world: World, provider: OidcProvider) -> None:
    with browser(world) as ours, browser(world) as stolen:
        code = query_of(provider.consent(begin(stolen), "ann-1"))["code"]
        back = provider.consent(begin(ours), "bob-1")
        refused(ours.get(back.replace(query_of(back)["code"], code)), 403, "be verified")


@pytest.mark.parametrize("named", [None, True])
def test_mix_up_attacks_are_refused(world: World, provider: OidcProvider, named: bool | None) -> None:
    """Mix-up attack (RFC 9207): another provider's code must not reach this one's token endpoint."""
    provider.metadata["authorization_response_iss_parameter_supported"] = named
    world.parts.provider._kept.clear()
    with browser(world) as http:
        for issuer in [{"iss": "https://evil.example"}] + [{}] * bool(named):
            back = provider.consent(begin(http), "bob-1")
            refused(http.get(back, params={**query_of(back), **issuer}), 403, "be verified")
        assert provider.count("/oauth2/token") == 0
        back = provider.consent(begin(http), "bob-1")
        assert http.get(back, params={**query_of(back), "iss": provider.url}).status_code == 303


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        ("access_denied", 403, "was cancelled"),
        ("temporarily_unavailable", 503, "right now"),
        ("server_error", 503, "right now"),
        ("<script>alert(1)</script>", 403, "didn&#39;t sign you in"),
    ],
)
def test_errors_of_the_provider(
    world: World, provider: OidcProvider, error: str, status: int, words: str
) -> None:
    with browser(world) as http:
        state = query_of(begin(http))["state"]
        answer = http.get(CALLBACK, params={"state": state, "error": error, "error_description": "<b>x</b>"})
        refused(answer, status, words)
        assert "Harbor Login" in answer.text
        assert "<b>x" not in answer.text
        assert "<script>alert" not in answer.text


def test_signing_out_continues_at_the_provider(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        come_back(http, provider, "bob-1")
        kept = http.cookies[COOKIE]
        where = address_in(http.post("/sign-out", data={"csrf": csrf_in(http.get("/review"))}))
        assert where.startswith(f"{provider.url}/oauth2/end_session?")
        sent = query_of(where)
        assert sent["post_logout_redirect_uri"] == f"{world.url}/sign-in"
        assert sent["client_id"] == "saycart"
        assert sent["id_token_hint"].count(".") == 2
        assert httpx.get(where).status_code == 200
        assert COOKIE not in http.cookies
    assert httpx.get(f"{world.url}/review", headers={"Cookie": f"{COOKIE}={kept}"}).status_code == 303


@pytest.mark.parametrize("place", [None, "javascript:alert(1)", "http://evil.example/out"])
def test_signing_out_is_local_without_provider_support(
    world: World, provider: OidcProvider, place: str | None
) -> None:
    provider.metadata["end_session_endpoint"] = place
    world.parts.provider._kept.clear()
    with browser(world) as http:
        come_back(http, provider, "bob-1")
        answer = http.post("/account/sign-out-everywhere", data={"csrf": csrf_in(http.get("/account"))})
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


def test_too_many_failed_attempts_must_wait(
    world: World, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "FIRST_WAIT_S", 60)
    monkeypatch.setattr(attempts, "WIDE", replace(WIDE, free=3))
    with browser(world) as stranger:
        provider.lie = lambda claims: {**claims, "nonce": "another"}
        # Attempts of earlier tests count too: same address.
        assert 429 in [come_back(stranger, provider, "bob-1").status_code for _ in range(4)]
        provider.lie = None
        answer = come_back(stranger, provider, "bob-1")
        refused(answer, 429, "Too many attempts")
        assert 0 < int(answer.headers["retry-after"]) <= 300
