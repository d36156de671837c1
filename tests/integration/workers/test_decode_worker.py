"""The decode worker as a process: it takes no orders for a server that ignores the mask."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from infra.sql.database import Database
from schemas.lifecycle import State
from services.bootstrap import bootstrap
from services.decoding.wire_mask import PROBE_ANSWER
from services.storage.shops.menus import MenuStore
from services.workers.children import as_environment
from services.workers.worker import WORKERS, celery_argv
from tests.servers.staged_server import Answer, completion, is_probe, spelled, staged_server
from tests.stand_ins import CAFE, RIGHT, TESTER, Pipeline
from tests.waiting import until

TIMEOUT_S = 60.0
PROMPT_S = 30.0


@pytest.fixture
def redis_url(server: EmbeddedRedis) -> str:
    return server.url


def worker(home: Path, *, menus: int = 0, threads: int = 1, **settings: Any) -> subprocess.Popen[str]:
    config = Settings(home=home, **settings)
    database = Database(config.database)
    database.migrate()
    for number in range(menus):
        MenuStore(database, "main").put(CAFE.model_copy(update={"id": f"cafe-{number}"}), by=TESTER)
    database.close()
    environment = {**os.environ, **as_environment(config), "SAYCART_READY_FILE": str(home / "ready")}
    argv = celery_argv("decode", WORKERS["decode"], threads, "INFO")
    return subprocess.Popen(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    )


@pytest.mark.parametrize("threads", [1, 4])
def test_it_stops_if_the_server_ignores_the_mask(tmp_path: Path, redis_url: str, threads: int) -> None:
    with staged_server(lambda body: completion("Sure! Hello!")) as server:
        process = worker(tmp_path, threads=threads, redis_url=redis_url, llm_url=server.url)
        said, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "No orders are taken: The decode server ignores the mask" in said.splitlines()[-1]
    assert not (tmp_path / "ready").exists()


def test_warming_many_menus_delays_no_order(tmp_path: Path, redis_url: str) -> None:
    """With three hundred menus of half a minute each, it takes orders at once, and an order interrupts
    warming."""
    settings: dict[str, Any] = {"redis_url": redis_url}
    asked: list[str] = []
    over = threading.Event()

    def answer(body: dict[str, Any]) -> Answer:
        kind = "probe" if is_probe(body) else "order" if "grammar" in body else "prompt"
        asked.append(kind)
        if kind == "prompt":
            over.wait(PROMPT_S)
        return completion(PROBE_ANSWER if kind == "probe" else spelled(RIGHT, CAFE))

    with staged_server(answer) as server:
        server.adapters = (200, b'[{"id": 0}]')
        process = worker(tmp_path, menus=300, llm_url=server.url, **settings)
        parts = bootstrap(Settings(home=tmp_path, **settings))
        pipeline = Pipeline(parts.database, parts.blobs)
        try:
            _until(lambda: "prompt" in asked, process)
            assert not (tmp_path / "ready").exists(), "the first order would wait for a prompt"
            order_id = pipeline.typed()
            assert parts.doorbell.ring(order_id, State.TRANSCRIBED)
            _until(lambda: pipeline.orders.get(order_id).state is State.COMPLETED, process)
            assert server.gone.is_set(), "the prompt that was being warmed went on"
            before = asked.index("order")
            assert asked[:before].count("prompt") == 1, "one prompt at a time"
            assert (tmp_path / "ready").exists()
        finally:
            over.set()
            process.kill()
            process.wait()
            parts.close()


def _until(happens: Callable[[], object], process: subprocess.Popen[str]) -> None:
    def it_does() -> object:
        assert process.poll() is None
        return happens()

    until(it_does, TIMEOUT_S)


def test_it_starts_before_the_decode_server(tmp_path: Path, redis_url: str) -> None:
    with staged_server(lambda body: (503, b"")) as server:
        process = worker(tmp_path, redis_url=redis_url, llm_url=server.url)
        late = threading.Timer(TIMEOUT_S, process.kill)
        late.start()
        try:
            assert process.stdout is not None
            assert any("worker.ready" in line for line in process.stdout), "it ended, or never got ready"
            _until((tmp_path / "ready").exists, process)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=TIMEOUT_S)
        finally:
            late.cancel()
            process.kill()
    assert server.bodies, "it did not ask for the proof"
    assert not (tmp_path / "ready").exists(), "it still says that it can work"


def test_cancelling_stops_the_decode(pipeline: Pipeline) -> None:
    order_id, begun = pipeline.typed(), threading.Event()

    with staged_server(lambda body: completion("")) as server:

        def slow(body: dict[str, Any]) -> Answer:
            begun.set()
            server.gone.wait(20)
            return completion(spelled(RIGHT, CAFE))

        server.answer = slow
        runner = pipeline.runner()
        tools = replace(runner.tools, decoder=lambda: server.decoder())
        runner = replace(runner, tools=tools, lease_s=0.6, attempts=1)  # a heartbeat each third of it
        work = threading.Thread(target=runner.run, args=(order_id, "decode"))
        work.start()
        assert begun.wait(20)
        pipeline.orders.cancel(order_id)
        work.join(20)
        assert not work.is_alive()
        assert server.gone.wait(5), "the server was left to decode in vain"
    after = pipeline.orders.get(order_id)
    assert (after.state, after.draft) == (State.CANCELLED, None)
    assert pipeline.types(order_id) == ["received", "transcribed", "cancelled"]
