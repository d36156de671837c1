"""Signing in by a provider: the whole way over HTTP, and what may not come in on it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import structlog

from infra.oidc import Secrets
from schemas.shops.access import Role
from services.web.staff.provider import CALLBACK, FLOW_COOKIE
from services.web.staff.staff import COOKIE
from tests.integration import oidc_world
from tests.integration.api_world import World
from tests.integration.oidc_world import audited, begin, browser, come_back, query_of, refused
from tests.integration.signing import csrf_in
from tests.servers.oidc_provider import SECRET, OidcProvider, address_in

at_work, provider, nothing_kept = oidc_world.at_work, oidc_world.provider, oidc_world.nothing_kept
shared, world, invited = oidc_world.shared, oidc_world.world, oidc_world.invited


def test_the_whole_way_there_and_back(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        sent = http.get("/review/stats?days=7")
        form = http.get(sent.headers["location"])
        assert "Sign in with Harbor Login" in form.text
        answer = http.post("/sign-in/oidc", data={"next": "/review/stats?days=7"})
        asked = {name: one[0] for name, one in parse_qs(urlsplit(address_in(answer)).query).items()}
        assert asked["redirect_uri"] == f"{world.url}{CALLBACK}"
        assert asked["response_type"] == "code"
        assert asked["scope"] == "openid email profile"
        assert asked["code_challenge_method"] == "S256"
        assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
        assert "form-action 'self'" in answer.headers["content-security-policy"]
        back = provider.consent(address_in(answer), "bob-1")
        done = http.get(back)
        assert (done.status_code, done.headers["location"]) == (303, "/review/stats?days=7")
        assert FLOW_COOKIE not in http.cookies
        assert "Bob" in http.get("/review").text
        assert "Harbor Login" in http.get("/account").text
    given = next(one for one in provider.asked if one.path == "/oauth2/token")
    assert "client_secret" not in given.fields
    assert given.client.startswith("Basic ")
    (bob,) = (one for one in world.parts.staff.list() if one.name == "Bob")
    assert (bob.shop, bob.role, bob.provider) == ("main", Role.REVIEWER, "bound")
    assert ("staff:Bob", "Bob", f'{{"issuer":"{provider.url}"}}') in audited(world, "sign_in.by_provider")
    assert audited(world, "account.bound")[0][:2] == ("staff:Bob", "Bob")


def test_what_it_tells_of_itself_is_asked_once(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        come_back(http, provider, "bob-1")
        provider.asked.clear()
        come_back(http, provider, "bob-1")
    assert provider.count("/.well-known/openid-configuration") == provider.count("/jwks") == 0


def test_the_cookie_of_a_sign_in_under_way(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        answer = http.post("/sign-in/oidc", data={"next": "/review"})
        (cookie,) = (one for one in answer.headers.get_list("set-cookie") if one.startswith(FLOW_COOKIE))
        for mark in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=600"):
            assert mark in cookie
        token = cookie.partition("=")[2].partition(";")[0]
        # Nothing of what the provider sees is what the cookie holds.
        assert token not in address_in(answer)
    done = httpx.post(
        f"{world.url}/sign-in/oidc", data={"next": "/"}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert (done.status_code, "set-cookie" in done.headers) == (403, False)


def test_over_https_only_this_very_host_can_set_it(invited: World, provider: OidcProvider) -> None:
    headers = {"X-Forwarded-Proto": "https", "Origin": invited.url.replace("http:", "https:")}
    answer = httpx.post(f"{invited.url}/sign-in/oidc", data={"next": "/review"}, headers=headers)
    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith(f"__Host-{FLOW_COOKIE}=")
    for mark in ("Secure", "Path=/", "SameSite=lax"):
        assert mark in cookie
    assert "Domain" not in cookie
    address = address_in(answer)
    assert query_of(address)["redirect_uri"] == invited.url.replace("http:", "https:") + CALLBACK
    token = cookie.partition("=")[2].partition(";")[0]
    back = provider.consent(address, "bob-1").replace("https:", "http:")
    # What another host of the domain may have slipped in is not looked at.
    planted = headers | {"Cookie": f"{FLOW_COOKIE}={token}"}
    refused(httpx.get(back, headers=planted), 400, "started in this browser")


def test_no_log_line_holds_what_opens_anything(
    world: World, provider: OidcProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with structlog.testing.capture_logs() as lines, browser(world) as http:
        back = provider.consent(begin(http), "bob-1")
        token = http.cookies[FLOW_COOKIE]
        assert http.get(back).status_code == 303
        provider.lie = lambda claims: {**claims, "aud": "another"}
        refused(come_back(http, provider, "bob-1"), 403, "be verified")
        where = address_in(http.post("/sign-out", data={"csrf": csrf_in(http.get("/review"))}))
    assert "oidc.not_believed" in str(lines)
    # The provider's own lines are its own business, and so are this test's requests.
    ours = [one for one in caplog.records if one.name not in ("werkzeug", "oidc_provider_mock")]
    text = str(lines) + "".join(one.getMessage() for one in ours if provider.url in one.getMessage())
    for secret in (
        token,
        Secrets.of(token).verifier,
        query_of(back)["code"],
        query_of(where)["id_token_hint"],
    ):
        assert secret not in text
    assert SECRET not in text


def test_each_sign_in_begins_a_session_of_its_own(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        come_back(http, provider, "bob-1")
        first = http.cookies[COOKIE]
        come_back(http, provider, "bob-1")
        assert http.cookies[COOKIE] != first
    # The session that this browser had before is over with the new one.
    assert httpx.get(f"{world.url}/review", headers={"Cookie": f"{COOKIE}={first}"}).status_code == 303
    with browser(world) as http:
        planted = "0" * 43
        address = begin(http)
        cookies = {"Cookie": f"{COOKIE}={planted}; {FLOW_COOKIE}={http.cookies[FLOW_COOKIE]}"}
        done = httpx.get(provider.consent(address, "bob-1"), headers=cookies)
        given = next(one for one in done.headers.get_list("set-cookie") if one.startswith(COOKIE))
        assert planted not in given


def test_an_answer_counts_in_the_browser_that_asked_for_it(world: World, provider: OidcProvider) -> None:
    """Somebody who has a colleague follow the link to their own account, and a forged state."""
    with browser(world) as mine, browser(world) as theirs:
        back = provider.consent(begin(mine), "bob-1")
        refused(theirs.get(back), 400, "started in this browser")
        begin(theirs)
        refused(theirs.get(back), 400, "started in this browser")
        state = parse_qs(urlsplit(back).query)["state"][0]
        refused(mine.get(back.replace(state, "0" * 64)), 400, "started in this browser")
        for odd in ("", "?state=", "?code=x", "?state=%C3%A9&code=x"):
            refused(mine.get(CALLBACK + odd), 400, "started in this browser")
        assert provider.count("/oauth2/token") == 0
        # None of it has ended what was begun here.
        assert mine.get(back).status_code == 303


def test_an_answer_counts_once(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        back = provider.consent(begin(http), "bob-1")
        token = http.cookies[FLOW_COOKIE]
        assert http.get(back).status_code == 303
    refused(httpx.get(back, headers={"Cookie": f"{FLOW_COOKIE}={token}"}), 400, "already used")
    assert provider.count("/oauth2/token") == 1


def test_a_code_of_another_sign_in_is_refused_by_its_pkce(world: World, provider: OidcProvider) -> None:
    with browser(world) as ours, browser(world) as stolen:
        code = parse_qs(urlsplit(provider.consent(begin(stolen), "ann-1")).query)["code"][0]
        back = provider.consent(begin(ours), "bob-1")
        own = parse_qs(urlsplit(back).query)["code"][0]
        refused(ours.get(back.replace(own, code)), 403, "be verified")


def test_an_answer_of_another_provider_is_not_given_in(world: World, provider: OidcProvider) -> None:
    """Mix-up: what another provider sends here must not reach this one's token endpoint (RFC 9207)."""
    with browser(world) as http:
        back = provider.consent(begin(http), "bob-1")
        refused(http.get(f"{back}&iss=https://evil.example"), 403, "be verified")
        assert provider.count("/oauth2/token") == 0
        back = provider.consent(begin(http), "bob-1")
        assert http.get(back, params={**query_of(back), "iss": provider.url}).status_code == 303


def test_where_it_names_itself_in_answers_it_must(world: World, provider: OidcProvider) -> None:
    provider.metadata["authorization_response_iss_parameter_supported"] = True
    world.parts.provider._kept.clear()
    with browser(world) as http:
        refused(come_back(http, provider, "bob-1"), 403, "be verified")
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


def test_who_calls_it_off_is_told_how_to_go_on(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        back = provider.deny(begin(http))
        # This provider leaves the state out; without it nobody can tell whose answer it is.
        state = {} if "state=" in back else {"state": query_of(begin(http))["state"]}
        refused(http.get(CALLBACK, params={**query_of(back), **state}), 403, "was cancelled")
