"""Errors on the server's side and around calls, and the API's self-description."""

from __future__ import annotations

import base64
import errno
import json
import os
import re
import socket
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from infra.sql.database import Database
from schemas.errors import StorageUnavailable
from schemas.records.orders import OrderRecord
from services.api.problem_codes import TITLES
from services.bootstrap import Container
from services.storage.orders.store import OrderStore
from services.storage.people.api_keys import KeyStore
from services.storage.shops.menus import MenuStore
from tests.integration import api_world
from tests.integration.api_world import MENU, World, expect_problem, running, wav

world, own_world, lone_world = api_world.world, api_world.own_world, api_world.lone_world

TEXT = {"transcript": "a latte", "menu": MENU["id"]}
NOWHERE = "postgresql://127.0.0.1:1/none"


def upload(world: World, **headers: str) -> httpx.Response:
    return world.http.post("/v1/orders", files={"audio": ("a", wav())}, headers=headers)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/orders/ord_none", 404, "not_found"),
        ("/v1/reviews/rev_none", 404, "not_found"),
        ("/v1/menus/none", 404, "not_found"),
        ("/v1/orders/%F0%9F%A5%AF", 404, "not_found"),
        ("/v1/orders/%ff%fe", 404, "not_found"),
        ("/v1/orders/a%00b", 400, "malformed_body"),
        ("/v1/orders?cursor=%00", 400, "malformed_body"),
        ("/v1/orders?limit=1000", 422, "invalid_input"),
    ],
)
def test_unknown_and_invalid_paths(world: World, path: str, status: int, code: str) -> None:
    found = expect_problem(world.http.get(path), status, code)
    assert [error["pointer"] for error in found["errors"]] == ["/query/limit"] * (status == 422)


@pytest.mark.parametrize("path", ["/v1/orders", "/v1/reviews"])
@pytest.mark.parametrize(
    "text",
    [
        *("0001-01-01T00:00:00+23:59 x", "9999-12-31T23:59:59-23:59 x"),  # out of range in UTC
        *("2026-11-01T00:00:00 x", "2026-11-01T00:00:00+00:00", "x y z"),
    ],
)
def test_a_forged_cursor_is_refused(world: World, path: str, text: str) -> None:
    cursor = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    expect_problem(world.http.get(path, params={"cursor": cursor}), 422, "invalid_input")


@pytest.mark.parametrize("path", ["/v1/orders", "/v1/reviews/rev_none/decision"])
def test_a_body_of_many_unknown_keys_is_not_parsed(world: World, path: str) -> None:
    many = {f"k{number}": 1 for number in range(60_000)}
    expect_problem(world.http.post(path, json=many), 413, "body_too_large")


def test_a_problem_lists_at_most_a_hundred_fields(world: World) -> None:
    refused = world.http.post("/v1/orders", json={f"k{number}": 1 for number in range(1_200)})
    found = expect_problem(refused, 422, "invalid_input")
    assert len(found["errors"]) == 100
    assert found["errors"][2] == {"pointer": "/k0", "detail": "is not a known field"}


def test_the_longest_text_and_metadata_are_accepted(world: World) -> None:
    sent = {"transcript": "🍵" * 2_000, "menu": MENU["id"], "metadata": {"note": "x" * 7_900}}
    body = json.dumps(sent, ensure_ascii=False).encode()
    answer = world.http.post("/v1/orders", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 202


def test_valid_request_ids_are_kept(world: World) -> None:
    given = {"X-Request-ID": "shop-17:2026-11-21"}
    assert world.http.get("/livez", headers=given).headers["x-request-id"] == given["X-Request-ID"]
    for bad in ("short", "x" * 65, "with space in it", "quote\"'<script>"):
        answer = world.http.get("/livez", headers={"X-Request-ID": bad})
        assert answer.headers["x-request-id"] != bad
        assert len(answer.headers["x-request-id"]) == 32


def test_an_internal_error_reveals_nothing(lone_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Mock(side_effect=RuntimeError("password=hunter2 at /srv/secret.py"))
    monkeypatch.setattr(OrderStore, "page", broken)
    answer = lone_world.http.get("/v1/orders")
    expect_problem(answer, 500, "internal")
    assert "hunter2" not in answer.text
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert lone_world.http.get("/livez").status_code == 200


def test_without_the_database_it_is_503_and_no_file_is_left(own_world: World) -> None:
    away = Database(NOWHERE)
    assert own_world.http.get("/metrics/database").status_code == 200
    own_world.parts.database, own_world.parts.orders = away, OrderStore(away, "main")
    for answer in (upload(own_world), own_world.http.post("/v1/orders", json=TEXT)):
        found = expect_problem(answer, 503, "storage_unavailable")
        assert found["retryable"]
        assert int(answer.headers["retry-after"]) >= 1
        assert "127.0.0.1" not in answer.text
    assert own_world.recordings == []
    own_world.parts.menus = MenuStore(away, "main")
    expect_problem(upload(own_world), 503, "storage_unavailable")
    assert own_world.recordings == []
    expect_problem(own_world.http.get("/v1/orders"), 503, "storage_unavailable")
    own_world.parts.keys = KeyStore(away)
    expect_problem(own_world.http.get("/v1/orders"), 503, "storage_unavailable")
    shown = own_world.http.get("/metrics/database")
    assert shown.status_code == 200
    assert "saycart_database_up 0.0" in shown.text
    assert "saycart_orders" not in shown.text
    away.close()


def test_an_uncertain_commit_leaves_no_recording(lone_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    create: Any = OrderStore.create

    def cut_off(*args: Any, **kwargs: Any) -> tuple[OrderRecord, bool]:
        create(*args, **kwargs)
        raise StorageUnavailable("the connection broke while it committed")

    monkeypatch.setattr(OrderStore, "create", cut_off)
    expect_problem(upload(lone_world), 503, "storage_unavailable")
    assert lone_world.recordings == []


def test_another_disk_failure_is_503(lone_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.EIO, "Input/output error")))
    expect_problem(upload(lone_world), 503, "storage_unavailable")
    assert lone_world.recordings == []


def test_health_and_metrics(own_world: World) -> None:
    own_world.text()
    assert own_world.http.get("/livez").json() == {"status": "ok"}
    ready = own_world.http.get("/readyz")
    checks = {"database": "ok", "queue": "ok", "decoder": "ok"}
    assert (ready.status_code, ready.json()) == (200, {"status": "ok", "checks": checks})
    for part in ("queue", "decoder"):
        own_world.parts.readiness = checks | {part: "no answer"}
        degraded = own_world.http.get("/readyz")
        assert degraded.status_code == 200, "it takes orders, as every other replica does"
        assert degraded.json() == {"status": "degraded", "checks": checks | {part: "no answer"}}
    own_world.server._app.state.draining = True
    assert own_world.http.get("/readyz").status_code == 503
    own_world.server._app.state.draining = False
    own_world.http.get("/v1/orders/ord_none")
    shown = own_world.http.get("/metrics").text + own_world.http.get("/metrics/database").text
    assert 'saycart_orders{state="transcribed"} 1.0' in shown
    assert 'saycart_orders{state="completed"} 0.0' in shown
    assert 'saycart_webhooks{state="dead"} 0.0' in shown
    template = 'method="GET",route="/v1/orders/{order_id}",status="404"'
    assert f"saycart_http_requests_total{{{template}}} 1.0" in shown
    assert "ord_none" not in shown


def test_the_docs_load_no_external_resources(world: World) -> None:
    page = world.http.get("/docs")
    assert page.status_code == 200
    assert "/v1/orders/{order_id}/cancel" in page.text
    assert "<script" not in page.text
    assert "http" not in page.text.replace("http-equiv", "").replace("HTTP", "")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_every_problem_type_has_a_page(world: World) -> None:
    for code, title in TITLES.items():
        page = world.http.get(f"/problems/{code}")
        assert page.status_code == 200
        assert title.split("'")[0] in page.text
    expect_problem(world.http.get("/problems/no-such"), 404, "not_found")


def test_a_wrong_method_gets_the_allowed_ones(world: World) -> None:
    for path, allowed in (
        ("/v1/orders", "GET, POST"),
        ("/v1/menus/x", "GET, PUT"),
        ("/v1/orders/x/data", "DELETE"),
        ("/livez", "GET"),
    ):
        answer = world.http.request("PATCH", path)
        expect_problem(answer, 405, "method_not_allowed")
        assert answer.headers["allow"] == allowed


def test_an_unknown_parameter_is_refused_with_the_known_ones(world: World) -> None:
    found = expect_problem(world.http.get("/v1/orders?state=completed&limit=1"), 422, "invalid_input")
    takes = "unknown parameter; this call takes cursor, limit, status"
    assert found["errors"] == [{"pointer": "/query/state", "detail": takes}]
    # Callers can't change how much of a body is read.
    found = expect_problem(world.http.put("/v1/menus/x?limit=100000000", json={}), 422, "invalid_input")
    assert found["detail"] == "/query/limit: unknown parameter; this call takes none"


def test_every_operation_has_id_summary_and_example(world: World) -> None:
    paths = httpx.get(f"{world.url}/openapi.json").json()["paths"]
    calls = [call for operations in paths.values() for call in operations.values()]
    names = {call["operationId"] for call in calls}
    assert len(names) == len(calls)
    assert {f"{verb}_order" for verb in ("create", "get", "answer", "confirm", "cancel", "take")} <= names
    for call in calls:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", call["operationId"])
        assert re.fullmatch(r"[A-Z][^.\n]{6,45}", call["summary"])
        assert call["x-codeSamples"][0]["source"].startswith("curl ")


def test_a_hanging_decoder_delays_no_probe(tmp_path: Path) -> None:
    """An orchestrator waits one second before it considers a replica unhealthy."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent:
        at = f"127.0.0.1:{silent.getsockname()[1]}"
        with running(
            tmp_path, container=Container, redis_url=f"redis://{at}/0", llm_url=f"http://{at}"
        ) as real:
            for _ in range(3):
                assert real.http.get("/readyz", timeout=1).json()["status"] == "degraded"


def test_without_the_database_it_is_unready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path, container=Container, redis_url="redis://127.0.0.1:1/0") as real:
        monkeypatch.setattr(real.parts.database, "ping", Mock(side_effect=StorageUnavailable("away")))
        answer = real.http.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (503, "unready")
        assert answer.json()["checks"]["database"] == "no answer"
