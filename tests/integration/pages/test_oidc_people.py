"""Who comes in by a provider and as what, how they leave, and how often strangers may try."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from services.storage.people import attempts
from services.storage.people.attempts import WIDE
from services.web.staff.provider import CALLBACK
from services.web.staff.staff import COOKIE
from tests.integration import oidc_world
from tests.integration.api_world import World, running
from tests.integration.oidc_world import audited, browser, come_back, query_of, refused
from tests.integration.signing import PASSWORD, csrf_in
from tests.servers.oidc_provider import OidcProvider, address_in
from tests.stand_ins import TESTER

at_work, provider, nothing_kept = oidc_world.at_work, oidc_world.provider, oidc_world.nothing_kept
shared, world, invited = oidc_world.shared, oidc_world.world, oidc_world.invited


def test_people_who_are_not_known_get_no_account(world: World, provider: OidcProvider) -> None:
    provider.knows("eve-1", preferred_username="Eve", email="eve@example.com", email_verified=True)
    with browser(world) as http:
        refused(come_back(http, provider, "eve-1"), 403, "Nobody here has invited you")
    assert "Eve" not in [one.name for one in world.parts.staff.list()]
    actor, about, after = audited(world, "sign_in.refused")[-1]
    assert (actor, about) == ("oidc:eve-1", "eve-1")
    assert after is not None
    assert '"reason":"unknown"' in after


def test_a_role_is_renewed_at_each_sign_in_and_ends_with_the_group(
    world: World, provider: OidcProvider
) -> None:
    provider.knows("dan-1", preferred_username="Dan", groups=["baristas"])
    with browser(world) as http, browser(world) as other:
        come_back(http, provider, "dan-1")
        assert http.get("/menu/corner-cafe/items/latte").status_code == 403
        provider.knows("dan-1", preferred_username="Daniel", groups=["baristas", "leads", "else"])
        come_back(other, provider, "dan-1")
        assert http.get("/menu/corner-cafe/items/latte").status_code == 200, "open sessions follow"
        assert audited(world, "account.role")[-1] == ("staff:Dan", "Dan", '{"role":"manager"}')
        provider.knows("dan-1", preferred_username="Dan", groups=[])
        with browser(world) as third:
            refused(come_back(third, provider, "dan-1"), 403, "None of your groups")
        assert http.get("/review").status_code == 303, "and are over with the refusal"
    assert "Daniel" not in [one.name for one in world.parts.staff.list()]


def test_a_disabled_account_stays_out(world: World, provider: OidcProvider) -> None:
    provider.knows("hal-1", preferred_username="Hal", groups=["baristas"])
    with browser(world) as http:
        come_back(http, provider, "hal-1")
        world.parts.staff.disable("Hal")
        assert http.get("/review").status_code == 303
        refused(come_back(http, provider, "hal-1"), 403, "is shut")


def test_a_password_may_be_for_those_alone_who_are_not_bound(invited: World, provider: OidcProvider) -> None:
    for name in ("Cat", "Zoe"):
        invited.parts.staff.add(name, PASSWORD)
    provider.knows("cat-1", email="cat@example.com", email_verified=True)
    invited.parts.provider_accounts.invite("Cat", provider.url, email="cat@example.com", by=TESTER)
    with browser(invited) as http:

        def by_password(name: str) -> int:
            http.cookies.clear()
            return http.post("/sign-in", data={"name": name, "password": PASSWORD}).status_code

        assert by_password("Cat") == 303, "an invitation is no binding yet"
        assert come_back(http, provider, "cat-1").status_code == 303
        # The second step is the provider's matter for whoever comes from there, and only for them.
        assert http.get("/review").status_code == 200
        assert by_password("Cat") == 401
        assert by_password("Zoe") == 303
        assert http.get("/review").headers["location"] == "/account/second-step"


def test_without_a_provider_there_is_no_button(tmp_path: Path) -> None:
    with running(tmp_path) as world, browser(world) as http:
        assert "oidc" not in http.get("/sign-in").text
        assert http.post("/sign-in/oidc", data={"next": "/"}).status_code == 404
        assert http.get(CALLBACK).status_code == 404


def test_signing_out_goes_on_to_the_provider(world: World, provider: OidcProvider) -> None:
    with browser(world) as http:
        come_back(http, provider, "bob-1")
        kept = http.cookies[COOKIE]
        answer = http.post("/sign-out", data={"csrf": csrf_in(http.get("/review"))})
        where = address_in(answer)
        assert where.startswith(f"{provider.url}/oauth2/end_session?")
        told = query_of(where)
        assert told["post_logout_redirect_uri"] == f"{world.url}/sign-in"
        assert told["client_id"] == "saycart"
        assert told["id_token_hint"].count(".") == 2
        assert httpx.get(where).status_code == 200
        assert COOKIE not in http.cookies
    assert httpx.get(f"{world.url}/review", headers={"Cookie": f"{COOKIE}={kept}"}).status_code == 303


@pytest.mark.parametrize("place", [None, "javascript:alert(1)", "http://evil.example/out"])
def test_signing_out_is_here_alone_where_the_provider_has_no_place_for_it(
    world: World, provider: OidcProvider, place: str | None
) -> None:
    provider.metadata["end_session_endpoint"] = place
    world.parts.provider._kept.clear()
    with browser(world) as http:
        come_back(http, provider, "bob-1")
        answer = http.post("/account/sign-out-everywhere", data={"csrf": csrf_in(http.get("/account"))})
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


def test_too_many_that_lead_nowhere_have_to_wait(
    world: World, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with browser(world) as stranger:
        monkeypatch.setattr(attempts, "FIRST_WAIT_S", 60)
        monkeypatch.setattr(attempts, "WIDE", replace(WIDE, free=3))
        provider.lie = lambda claims: {**claims, "nonce": "another"}
        # Those of the tests before count as well: it is the same address.
        assert 429 in [come_back(stranger, provider, "bob-1").status_code for _ in range(4)]
        provider.lie = None
        answer = come_back(stranger, provider, "bob-1")
        refused(answer, 429, "Too many attempts")
        assert 0 < int(answer.headers["retry-after"]) <= 300
