"""One order, one trace: real API, Redis, Celery worker with a forked child, courier and sweep."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from schemas.lifecycle import State
from services.bootstrap import Container
from services.workers.stack import as_environment
from services.workers.sweeper import sweep
from services.workers.worker import celery_argv
from tests.integration.api_world import World, running
from tests.integration.workers.test_courier import SECRET
from tests.servers.collector import Collector, collecting, traced
from tests.servers.loopback import Handler, serving
from tests.stand_ins import CAFE, SAID, TESTER
from tests.waiting import until

STARTED_S, SOON_S = 90, 60
STAGES = ["stage decode", "stage validate"]


@contextmanager
def shop() -> Iterator[tuple[str, dict[str, str]]]:
    """A receiver of webhooks: its address, and the traceparent of each order that it was told of."""
    told: dict[str, str] = {}

    class Receiver(Handler):
        def do_POST(self) -> None:
            told[json.loads(self.body())["data"]["order_id"]] = self.headers["traceparent"]
            self.answer(204)

    with serving(Receiver) as url:
        yield f"{url}/", told


class Part:
    """A child process of this deployment, whose output is in a file."""

    def __init__(self, settings: Settings, name: str, argv: tuple[str, ...] | list[str]) -> None:
        self.log, self.ready = settings.home / f"{name}.log", settings.home / f"{name}.ready"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                argv,
                env={**os.environ, **as_environment(settings), "SAYCART_READY_FILE": str(self.ready)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def until_ready(self, line: str = "") -> None:
        until(lambda: self.ready.exists() and line in self.log.read_text(), STARTED_S)

    def told_to_stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SOON_S)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def submit(world: World) -> str:
    answer = world.http.post("/v1/orders", json={"transcript": SAID, "menu": CAFE.id})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def test_from_upload_to_webhook_also_after_a_lost_message(tmp_path: Path, server: EmbeddedRedis) -> None:
    with collecting() as collector, shop() as (address, told), traced(collector):
        wanted: dict[str, Any] = {
            "redis_url": server.url, "webhook_url": address, "webhook_secret": SECRET,
            "traces_url": collector.url,
        }  # fmt: skip
        with running(tmp_path, container=Container, **wanted) as world:
            _follow(world, collector, server, told)


def _follow(world: World, collector: Collector, server: EmbeddedRedis, told: dict[str, str]) -> None:
    parts, settings = world.parts, world.parts.settings
    parts.menus.of("main").put(CAFE, by=TESTER)
    courier = Part(settings, "courier", [sys.executable, "-m", "services.workers.courier"])
    argv = celery_argv("all", "decode,validate", 1, "INFO")
    argv = tuple(
        "tests.processes.flushing_worker" if word == "services.workers.app" else word for word in argv
    )
    with redis.Redis.from_url(server.operator_url) as broker:
        # Accepted and rung for, and then the queue loses it, before anybody listens.
        lost = submit(world)
        until(lambda: broker.llen("decode") == 1, SOON_S)
        broker.flushall()
    worker = Part(settings, "worker", argv)
    try:
        worker.until_ready(" ready.")
        rung = submit(world)
        assert sweep(parts, idle_s=0) >= 1
        orders = (lost, rung)
        for order_id in orders:
            until(lambda: parts.orders.get(order_id).state is State.COMPLETED, SOON_S)  # noqa: B023
        until(lambda: set(told) == set(orders), SOON_S)
        assert collector.named("stage decode") == []
        # What a part has left is sent when it ends; of the worker by its child, that has the exporter.
        assert worker.told_to_stop() == 0
        assert courier.told_to_stop() == 0
    finally:
        worker.close()
        courier.close()
    collector.until(lambda: all(len(collector.of(order_id)) >= 5 for order_id in orders))
    for order_id in orders:
        _is_one_trace(parts, collector, order_id, told[order_id])
    sent = [span for order_id in orders for span in collector.of(order_id) if span.name == "send decode"]
    assert {span.part for span in sent} == {"saycart-api"}
    assert len(sent) >= len(orders) + 1, "the sweeper rang again"
    stages = [span for span in collector.spans if span.name in STAGES]
    assert {span.part for span in stages} == {"saycart-worker"}
    [exporting] = {span.pid for span in stages}
    assert exporting != worker.process.pid, "the forked child exports"


def _is_one_trace(parts: Container, collector: Collector, order_id: str, told: str) -> None:
    spans = collector.of(order_id)
    [accept] = [span for span in spans if span.name == "accept"]
    assert accept.is_at(parts.orders.get(order_id).traceparent)
    assert {span.trace for span in spans} == {accept.trace}
    stages = [span for span in spans if span.name in STAGES]
    assert [span.name for span in stages] == STAGES
    assert {span.parent for span in stages} == {accept.id}
    assert [span.attributes["saycart.outcome"] for span in stages] == ["decoded", "completed"]
    [tell] = [span for span in spans if span.name == "tell shop"]
    assert (tell.parent, tell.part) == (accept.id, "saycart-courier")
    [post] = [span for span in collector.named("POST") if span.parent == tell.id]
    assert (post.kind, post.attributes["http.response.status_code"]) == ("client", 204)
    assert post.is_at(told), "the shop's system can go on with it"
