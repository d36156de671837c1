"""`/v1/keys`: keys of the own shop, and no way to more than its admin may."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.shops.access import ALL_SCOPES, ROLE_SCOPES, Role, Scope
from services.storage.audit.log import AuditLog
from tests.credentials import Header, header_for
from tests.integration.api_world import World, expect_problem, running
from tests.stand_ins import TESTER

DAY_S = 86_400


@pytest.fixture
def world(tmp_path: Path, database_url: str) -> Iterator[World]:
    with running(tmp_path, database_url) as alone:
        yield alone


@pytest.fixture
def admin(world: World) -> Header:
    """Of nobody in person."""
    return header_for(world.parts.database, Scope.ADMIN, person=None)


def make(world: World, header: Header, **more: Any) -> Any:
    body = {"name": "till", "scopes": ["orders:read"], **more}
    return world.http.post("/v1/keys", json=body, headers=header)


def bearer(made: Any) -> Header:
    return {"Authorization": f"Bearer {made['key']}"}


def test_a_key_from_its_making_to_its_end(world: World, admin: Header) -> None:
    http, answer = world.http, make(world, admin, lasts_s=DAY_S)
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    made = answer.json()
    assert made["key"].startswith(made["prefix"] + "_")
    assert http.get("/v1/orders", headers=bearer(made)).status_code == 200
    listed = http.get("/v1/keys", headers=admin)
    mine = next(key for key in listed.json()["keys"] if key["id"] == made["id"])
    assert mine["last_used_at"] is not None
    assert mine["expires_at"] is not None
    assert (mine["name"], mine["scopes"], mine["page"]) == ("till", ["orders:read"], False)
    assert made["key"].rpartition("_")[2] not in listed.text
    new = http.post(f"/v1/keys/{made['id']}/rotate", json={"overlap_s": 60}, headers=admin).json()
    for key in (made, new):
        assert http.get("/v1/orders", headers=bearer(key)).status_code == 200
    for _ in range(2):
        gone = http.post(f"/v1/keys/{made['id']}/revoke", headers=admin)
        assert gone.json()["revoked_at"] is not None
    assert http.get("/v1/orders", headers=bearer(made)).status_code == 401
    assert http.get("/v1/orders", headers=bearer(new)).status_code == 200
    expect_problem(http.post(f"/v1/keys/{made['id']}/rotate", json={}, headers=admin), 409, "conflict")
    acts = list(AuditLog(world.parts.database).entries(action="key"))[-4:]
    assert [entry.action for entry in acts] == ["key.added", "key.rotated", "key.revoked", "key.revoked"]
    assert all(entry.actor.startswith("key:") and entry.address for entry in acts)


def test_it_hands_on_what_an_admin_may_and_no_more(world: World, admin: Header) -> None:
    most = sorted(ROLE_SCOPES[Role.ADMIN] - {Scope.REVIEWS})
    assert make(world, admin, scopes=most).status_code == 201
    assert Scope.METRICS not in most
    for scopes in (["metrics"], ["orders:read", "metrics"]):
        found = expect_problem(make(world, admin, scopes=scopes), 403, "forbidden")
        assert "metrics" in found["detail"]
    # Nor by a key that an operator made.
    scraper, _ = world.parts.keys.add("main", "scraper", {Scope.METRICS}, by=TESTER)
    expect_problem(world.http.post(f"/v1/keys/{scraper.id}/rotate", json={}, headers=admin), 403, "forbidden")


def test_nobody_becomes_another_person(world: World, admin: Header) -> None:
    """Two who agree are two people: an admin's key makes none that reviews as ann, and one as ben."""
    ada = header_for(world.parts.database, Scope.ADMIN, person="ada")
    bens, _ = world.parts.keys.add("main", "ben's", {Scope.REVIEWS}, by=TESTER, person=_account(world, "ben"))
    for header, person in ((admin, "ada"), (admin, "ben"), (ada, "ben"), (ada, "nobody")):
        expect_problem(make(world, header, scopes=["reviews"], person=person), 403, "forbidden")
        expect_problem(make(world, header, person=person), 403, "forbidden")
    for header in (admin, ada):
        rotated = world.http.post(f"/v1/keys/{bens.id}/rotate", json={}, headers=header)
        expect_problem(rotated, 403, "forbidden")
        expect_problem(make(world, header, scopes=["reviews"]), 422, "invalid_input")
    own = make(world, ada, scopes=["reviews"], person="ada")
    assert (own.status_code, own.json()["person"]) == (201, "ada")
    assert world.http.post(f"/v1/keys/{bens.id}/revoke", headers=admin).status_code == 200


def test_a_key_that_ends_leaves_none_behind_that_does_not(world: World) -> None:
    short, token = world.parts.keys.add("main", "temp", {Scope.ADMIN}, by=TESTER, lasts_s=3600)
    header = {"Authorization": f"Bearer {token}"}
    long, _ = world.parts.keys.add("main", "till", {Scope.ORDERS_READ}, by=TESTER)
    ends = datetime.fromisoformat(world.http.get("/v1/keys", headers=header).json()["keys"][-2]["expires_at"])
    assert short.expires_at is not None
    rotate = {"url": f"/v1/keys/{long.id}/rotate", "json": {}, "headers": header}
    itself = {"url": f"/v1/keys/{short.id}/rotate", "json": {}, "headers": header}
    for made in (
        make(world, header), make(world, header, lasts_s=DAY_S), world.http.post(**rotate),
        world.http.post(**itself),
    ):  # fmt: skip
        assert datetime.fromisoformat(made.json()["expires_at"]) <= ends
    brief = make(world, header, lasts_s=60).json()
    assert datetime.fromisoformat(brief["expires_at"]) < ends


def test_another_shops_keys_are_not_there(world: World, admin: Header) -> None:
    world.parts.shops.add("other", "Other", by=TESTER)
    eve = header_for(world.parts.database, person="eve", shop="other")
    mine = make(world, admin).json()["id"]
    for call in ("rotate", "revoke"):
        expect_problem(world.http.post(f"/v1/keys/{mine}/{call}", json={}, headers=eve), 404, "not_found")
    assert mine not in world.http.get("/v1/keys", headers=eve).text
    made = make(world, eve).json()
    assert world.parts.keys.access(made["key"]).shop == "other"  # type: ignore[union-attr]


def test_bodies_that_are_no_key(world: World, admin: Header) -> None:
    for more in (
        {"scopes": []}, {"scopes": ["root"]}, {"scopes": "admin"}, {"name": ""}, {"name": "x" * 81},
        {"lasts_s": 0}, {"lasts_s": -1}, {"lasts_s": 1e12}, {"shop": "other"}, {"person": 7},
        {"scopes": [scope.value for scope in ALL_SCOPES] * 2},
    ):  # fmt: skip
        expect_problem(make(world, admin, **more), 422, "invalid_input")
    expect_problem(make(world, admin, name="\u200b\u0007"), 422, "invalid_input")


def test_it_is_listed_in_pages(world: World, admin: Header) -> None:
    ids = [make(world, admin, name=f"till {i}").json()["id"] for i in range(5)]
    found, cursor = list[str](), None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = world.http.get("/v1/keys", params=query, headers=admin).json()
        found += [key["id"] for key in page["keys"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found[-5:] == ids
    assert len(found) == len(set(found))


def _account(world: World, name: str) -> str:
    world.parts.staff.add(name, "correct horse battery")
    return name
