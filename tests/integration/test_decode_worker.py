"""The decode worker as a process of its own: it takes no order for a server that ignores the mask."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.database import Database
from infra.ports import any_free
from infra.redis_server import EmbeddedRedis
from infra.settings import Settings
from infra.supervisor import Supervisor
from services.engines.decoder import PROBE_WORD
from services.workers.stack import WORKERS, as_environment, celery_argv
from tests.staged_server import Answer, completion, staged_server

TIMEOUT_S = 60.0


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("redis")
    server = EmbeddedRedis(home / "redis", any_free(), home / "redis.log")
    supervisor = Supervisor(home)
    supervisor.start([server.child("redis")])
    yield server.url
    supervisor.stop()


def worker(name: str, home: Path, **settings: Any) -> subprocess.Popen[str]:
    config = Settings(home=home, **settings)
    database = Database(config.database)
    database.migrate()
    database.close()
    environment = {**os.environ, **as_environment(config), "SAYCART_READY_FILE": str(home / "ready")}
    argv = celery_argv(name, WORKERS[name], 1, "INFO")
    return subprocess.Popen(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    )


def test_it_ends_with_the_reason_when_the_server_ignores_the_mask(tmp_path: Path, redis_url: str) -> None:
    with staged_server(lambda body: completion("Sure! Hello!")) as server:
        process = worker("decode", tmp_path, redis_url=redis_url, llm_url=server.url)
        said, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "No orders are taken: The decode server ignores the mask" in said.splitlines()[-1]
    assert not (tmp_path / "ready").exists()


@pytest.mark.parametrize("answer", [completion(PROBE_WORD), (503, b"")], ids=["masks", "is away"])
def test_it_serves_when_the_server_masks_or_may_yet_come(
    tmp_path: Path, redis_url: str, answer: Answer
) -> None:
    with staged_server(lambda body: answer) as server:
        process = worker("decode", tmp_path, redis_url=redis_url, llm_url=server.url)
        late = threading.Timer(TIMEOUT_S, process.kill)
        late.start()
        try:
            assert process.stdout is not None
            assert any("worker.ready" in line for line in process.stdout), "it ended, or never got ready"
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=TIMEOUT_S)
        finally:
            late.cancel()
            process.kill()
    assert server.bodies, "it did not ask for the proof"
    assert (tmp_path / "ready").exists()
