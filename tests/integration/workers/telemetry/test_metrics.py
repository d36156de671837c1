"""Metrics from a machine's processes, replicas of the API, and the database."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import update

from infra.observability import metrics
from infra.processes.ports import any_free
from infra.settings import REPOSITORY, Settings
from infra.sql.database import Database
from schemas.lifecycle import State
from services.storage.base.tables import OrderRow, OutboxRow
from services.workers.stack import Stack
from tests.integration import api_world
from tests.integration.api_world import World, running
from tests.processes.parts import program
from tests.shown import Shown, shown, shown_by
from tests.stand_ins import claim_order
from tests.waiting import answers, until

own_world = api_world.own_world

# Counts one stage itself and one in a child, and waits to be killed during another.
PART = """
import os, sys, time
from infra.observability import measures
measures.set_part("decode")
def stage():
    with measures.time_stage("decode") as took:
        took.outcome = "done"
stage()
if sys.argv[1] == "forks":
    if not (child := os.fork()):
        stage()
        os._exit(0)
    os.waitpid(child, 0)
with measures.time_stage("decode"):
    print("begun", flush=True)
    time.sleep(600)
"""


def part(folder: Path, how: str = "forks") -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    environment = os.environ | {metrics.MULTIPROC_DIR: str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-c", PART, how], env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def read(folder: Path) -> Shown:
    registry = CollectorRegistry()
    registry.register(metrics.FolderCollector(folder))
    return shown_by(registry)


STAGES, BUSY = "saycart_stage_seconds_count", "saycart_worker_slots_busy"


def test_killed_processes_keep_counts_but_no_gauges(tmp_path: Path) -> None:
    with part(tmp_path) as one, part(tmp_path, "alone") as two:
        found = read(tmp_path)
        assert (found(STAGES, stage="decode", outcome="done"), found(BUSY)) == (3, 2)
        one.kill()
        one.wait()
        found = read(tmp_path)
        assert (found(STAGES, stage="decode", outcome="done"), found(BUSY)) == (3, 1)
        two.kill()
    found = read(tmp_path)
    assert (found(STAGES), found(BUSY)) == (3, 0)
    (tmp_path / "histogram_1.db").touch()  # of one that was killed as it began
    assert read(tmp_path)(STAGES) == 3
    assert list(metrics.recreate(tmp_path).iterdir()) == []


def test_an_occupied_metrics_port_is_harmless() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert not metrics.serve("127.0.0.1", taken.getsockname()[1])


def test_only_transcription_runs_at_a_lower_priority(tmp_path: Path) -> None:
    wanted = Settings(home=tmp_path, redis_url="redis://127.0.0.1:1", llm_url="http://127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        children = Stack(wanted)._children(listener)
    assert [child.name for child in children if child.nice] == ["transcribe"]


def test_the_api_exports_its_machines_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "parts"
    monkeypatch.setenv(metrics.SHOWN_DIR, str(folder))
    with running(tmp_path / "home") as world:
        assert shown(world.http.get("/metrics").text)(STAGES) == 0
        with part(folder, "alone") as process:
            found = shown(world.http.get("/metrics").text)
            assert (found(STAGES, stage="decode"), found(BUSY, part="decode")) == (1, 1)
            process.kill()


def test_two_replicas_do_not_multiply_orders(own_world: World, database_url: str, tmp_path: Path) -> None:
    own_world.text()
    with running(tmp_path / "second", own_world.parts.settings.database) as second:
        second.http.headers.update(own_world.bearing("scraper"))
        for world, accepted in ((own_world, 1), (second, 0)):
            text = world.http.get("/metrics").text
            assert shown(text)("saycart_order_accepted_seconds_count") == accepted
            assert "saycart_orders{" not in text
            found = shown(world.http.get("/metrics/database").text)
            assert found("saycart_orders", state="transcribed") == 1


def test_ages_in_the_database(own_world: World) -> None:
    parts = own_world.parts
    old, young, held = (own_world.text()["id"] for _ in range(3))
    assert claim_order(parts.orders, held, State.TRANSCRIBED, owner="a", lease_s=600) is not None
    with parts.database.everywhere().write() as session:
        now = parts.database.now(session)
        for order_id, age_s in ((old, 300), (young, 20), (held, 100)):
            at = now - timedelta(seconds=age_s)
            session.execute(update(OrderRow).where(OrderRow.id == order_id).values(updated_at=at))
        session.add(
            OutboxRow(
                id="msg_1", order_id=old, seq=9, type="order.completed", payload={}, version=1, attempt=0,
                endpoint_id="settings",
                created_at=now - timedelta(seconds=50),
            )
        )  # fmt: skip
    found = shown(own_world.http.get("/metrics/database").text)
    assert 300 <= found("saycart_queue_oldest_seconds", stage="decode") < 360
    assert 100 <= found("saycart_lease_oldest_seconds", stage="decode") < 160
    assert 50 <= found("saycart_webhooks_oldest_seconds") < 110
    assert found("saycart_queue_oldest_seconds", stage="validate") == 0
    # Orders waiting for a retry don't wait for a worker.
    with parts.database.everywhere().write() as session:
        later = parts.database.now(session) + timedelta(seconds=60)
        session.execute(update(OrderRow).where(OrderRow.id == old).values(next_attempt_at=later))
    found = shown(own_world.http.get("/metrics/database").text)
    assert 20 <= found("saycart_queue_oldest_seconds", stage="decode") < 80
    for order_id in (old, young, held):
        parts.orders.cancel(order_id)
    found = shown(own_world.http.get("/metrics/database").text)
    assert found("saycart_queue_oldest_seconds") == found("saycart_lease_oldest_seconds") == 0


def test_sweeper_and_courier_serve_their_own(tmp_path: Path) -> None:
    ports = {"sweeper": any_free(), "courier": any_free()}
    with ExitStack() as stack:
        for module, port in ports.items():
            wanted = Settings(
                home=tmp_path, metrics_port=port, redis_url="redis://127.0.0.1:1",
                webhook_endpoints="private",
            )  # fmt: skip
            database = Database(wanted.database)
            database.migrate()
            database.close()
            stack.enter_context(program(wanted, "-m", f"services.workers.{module}"))
        for module, port in ports.items():
            assert _scraped(port)("saycart_database_connections_limit", part=module) == 20
        rounds = "saycart_sweeper_seconds_count"
        until(lambda: _scraped(ports["sweeper"])(rounds, step="collect") == 1, 30)


def _scraped(port: int) -> Shown:
    url = f"http://127.0.0.1:{port}/metrics"
    until(lambda: answers(url), 60)
    return shown(httpx.get(url, trust_env=False).text)
