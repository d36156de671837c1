"""`/v1/webhooks` and `saycart webhooks`, from the making of an endpoint to its end."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infra.settings import Settings
from schemas.lifecycle import Event
from schemas.shops.access import Scope
from schemas.shops.webhook import TO_ENDPOINTS
from services.bootstrap import bootstrap
from services.cli import client
from services.cli.main import app
from services.storage.audit.log import AuditLog
from tests.credentials import header_for
from tests.integration.api_world import World, expect_problem, running

URL = "https://10.1.2.3/hook"


@pytest.fixture
def world(tmp_path: Path, database_url: str) -> Iterator[World]:
    with running(tmp_path, database_url, webhook_endpoints="private") as alone:
        yield alone


def test_an_endpoint_from_its_making_to_its_end(
    world: World, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    http = world.http
    answer = http.post("/v1/webhooks", json={"url": URL, "events": ["order.needs_review"]})
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    made = answer.json()
    path = f"/v1/webhooks/{made['id']}"
    first = made.pop("secret")
    assert first.startswith("whsec_")
    assert http.get(path).json() == made
    assert http.get("/v1/webhooks").json() == {"webhooks": [made]}
    assert (made["url"], made["events"], made["enabled"]) == (URL, ["order.needs_review"], True)
    world.advance(world.text()["id"], Event.DOUBTED)
    assert http.get(path).json()["waiting"] == 1
    changed = http.patch(path, json={"events": None, "url": f"{URL}/2"}).json()
    assert (changed["url"], changed["events"], changed["waiting"]) == (f"{URL}/2", None, 1)
    assert http.patch(path, json={"enabled": False}).json()["enabled"] is False
    rotated = http.post(f"{path}/rotate", json={"overlap_s": 60}).json()
    assert rotated["secret"] != first
    assert rotated["old_secret_until"] is not None
    asked = http.post(f"{path}/test")
    assert (asked.status_code, asked.json()["test"]["sent_at"]) == (202, None)
    assert http.delete(path).json() == {"id": made["id"], "withdrawn": 1}
    expect_problem(http.get(path), 404, "not_found")
    acts = [entry for entry in AuditLog(world.parts.database).entries(action="webhook")]
    assert [entry.action.partition(".")[2] for entry in acts] == [
        "added", "changed", "changed", "rotated", "test_asked", "removed",
    ]  # fmt: skip
    assert all(entry.actor.startswith("key:") and entry.address for entry in acts)
    for secret in (first, rotated["secret"]):
        assert secret not in caplog.text + "".join(capsys.readouterr())


def test_what_is_refused(world: World) -> None:
    http, made = world.http, world.http.post("/v1/webhooks", json={"url": URL}).json()
    path = f"/v1/webhooks/{made['id']}"
    for body in (
        {}, {"url": ""}, {"url": URL, "secret": "x"}, {"url": URL, "events": []}, {"url": 7},
        {"url": "x" * 501}, {"url": URL, "events": ["order.completed"] * 9},
    ):  # fmt: skip
        expect_problem(http.post("/v1/webhooks", json=body), 422, "invalid_input")
    for url in ("http://10.1.2.3/", "https://169.254.169.254/latest/meta-data", "https://[fe80::1]/", "x"):
        expect_problem(http.post("/v1/webhooks", json={"url": url}), 422, "invalid_input")
        expect_problem(http.patch(path, json={"url": url}), 422, "invalid_input")
    for body in ({"url": None}, {"enabled": None}, {"id": "x"}):
        expect_problem(http.patch(path, json=body), 422, "invalid_input")
    for overlap_s in (-1, 1e9, "soon"):
        expect_problem(http.post(f"{path}/rotate", json={"overlap_s": overlap_s}), 422, "invalid_input")
    assert http.get(path).json()["url"] == URL


def test_where_endpoints_are_off_none_is_made(tmp_path: Path) -> None:
    with running(tmp_path) as world:
        assert TO_ENDPOINTS not in world.parts.tells
        found = expect_problem(world.http.post("/v1/webhooks", json={"url": URL}), 409, "conflict")
        assert "SAYCART_WEBHOOK_ENDPOINTS" in found["hint"]
        assert world.http.get("/v1/webhooks").json() == {"webhooks": []}


def test_it_takes_its_own_scope(world: World) -> None:
    for scope, status in ((Scope.WEBHOOKS, 200), (Scope.ADMIN, 403), (Scope.ORDERS_READ, 403)):
        header = header_for(world.parts.database, scope)
        assert world.http.get("/v1/webhooks", headers=header).status_code == status


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> None:
    config = Settings(home=tmp_path, database_url=database_url, webhook_endpoints="private")
    monkeypatch.setattr(client, "settings", lambda: config)
    monkeypatch.setenv("COLUMNS", "250")

    def saycart(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["webhooks", *words])
        assert done.exit_code == code, done.output
        return done.output

    secret = saycart("add", URL, "--events", "order.completed,order.failed").split()[-1]
    box = bootstrap(config)
    try:
        [made] = box.endpoints.list()
        assert made.events == ("order.completed", "order.failed")
        new = saycart("rotate", made.id, "--overlap-hours", "1").split()[-1]
        assert secret.startswith("whsec_")
        assert new.startswith("whsec_")
        shown = saycart("endpoints")
        for part in (made.id, URL, "order.completed order.failed"):
            assert part in shown
        assert secret not in shown
        assert new not in shown
        assert "0 waiting messages dropped" in saycart("remove", made.id)
        saycart("remove", made.id, code=1)
        saycart("add", "http://10.0.0.1", code=1)
        told = list(AuditLog(box.database).entries(action="webhook"))
        assert all(entry.actor.startswith("operator:") for entry in told)
        assert json.loads(told[0].after or "")["origin"] == "https://10.1.2.3"
    finally:
        box.close()
