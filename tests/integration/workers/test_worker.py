"""Real Celery workers as child processes: frozen and continued, stopped, with a pool of threads."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import redis

from infra.blobs.folder import BlobFolder
from infra.observability import metrics
from infra.processes.ports import any_free
from infra.processes.supervisor import Supervisor
from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from infra.sql.database import Database
from schemas.lifecycle import State
from services.bootstrap import Container
from services.workers.children import as_environment
from services.workers.sweeper import sweep
from services.workers.worker import celery_argv
from tests.shown import shown
from tests.stand_ins import Pipeline, claim_order
from tests.waiting import until

LEASE_S = 3.0  # three beats: a stall of a second loses none
# Long enough for any stage here, however slow the machine; or so short that one that is held never ends.
PATIENT_S, SHORT_S = 60.0, 1.0
APP = "services.workers.app"
STAGES = "saycart_stage_seconds_count"
STARTED_S, SOON_S = 90, 60
# What the database has no part in is tried once.
ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Worker:
    """A decode worker with its own database and Redis; `hold` blocks its decodes."""

    def __init__(self, database_url: str, home: Path, drain_s: float, threads: int) -> None:
        self.home = home
        server = EmbeddedRedis(home / "redis", any_free(), home / "redis.log")
        self._supervisor = Supervisor(home)
        self._supervisor.start([server.child()])
        settings = Settings(
            home=home,
            database_url=database_url,
            redis_url=server.url,
            stage_lease_s=LEASE_S,
            metrics_port=any_free(),
        )
        self._metrics = f"http://127.0.0.1:{settings.metrics_port}/metrics"
        self.parts = Container(settings)
        self.world = Pipeline(self.parts.database, BlobFolder(home / "blobs"))
        self.redis = redis.Redis.from_url(server.operator_url)
        self._ready = home / "ready"
        # As the stack starts it, but for the decoder.
        argv = [
            "tests.processes.standing_worker" if word == APP else word
            for word in celery_argv("decode", "decode", threads, "INFO")
        ]
        with (home / "worker.log").open("wb") as log:
            self.process = subprocess.Popen(
                argv,
                env={
                    **os.environ,
                    **as_environment(settings),
                    "SAYCART_READY_FILE": str(self._ready),
                    "DRAIN_S": str(drain_s),
                    metrics.MULTIPROC_DIR: str(metrics.recreate(home / "metrics")),
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def until_ready(self) -> Worker:
        # Its own file says that it can work, Celery's line that it can be asked to stop.
        self.until(lambda: self._ready.exists() and " ready." in self.log(), STARTED_S)
        return self

    def log(self) -> str:
        return (self.home / "worker.log").read_text()

    def until(self, true: Callable[[], object], seconds: float = SOON_S) -> None:
        def it_does() -> object:
            assert self.process.poll() is None, self.log()
            return true()

        until(it_does, seconds, detail=self.log)

    def measured(self, name: str, **labels: str) -> float:
        """Return the metrics of its own port."""
        return shown(httpx.get(self._metrics, trust_env=False, timeout=SOON_S).text)(name, **labels)

    def hold(self, on: bool) -> None:
        file = self.home / "hold"
        file.touch() if on else file.unlink()

    def asked(self) -> int:
        """Return the number of decodes that have begun."""
        file = self.home / "asked"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def order(self) -> str:
        """Create an order and ring for it."""
        order_id = self.world.typed()
        assert self.parts.doorbell.ring(order_id, State.TRANSCRIBED)
        return order_id

    def state(self, order_id: str) -> State:
        return self.world.orders.get(order_id).state

    def asked_to_stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SOON_S)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGCONT)
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.redis.close()
        self.parts.close()
        self._supervisor.stop()


@pytest.fixture
def start(database_url: str, database: Database, tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    started: list[Worker] = []

    def begin(drain_s: float, threads: int) -> Worker:
        started.append(Worker(database_url, tmp_path, drain_s, threads))
        return started[-1].until_ready()

    yield begin
    for worker in started:
        worker.close()


def test_a_worker_survives_freezing_flushing_and_stopping(start: Callable[..., Worker]) -> None:
    worker = start(SHORT_S, threads=1)
    world = worker.world

    # A decode longer than its lease keeps its order: no other worker can claim it.
    worker.hold(True)
    long = worker.order()
    worker.until(lambda: worker.asked() == 1)
    claimed = world.orders.get(long)
    time.sleep(1.5 * LEASE_S)
    assert claim_order(world.orders, long, State.TRANSCRIBED, owner="thief", lease_s=9) is None
    assert world.orders.get(long).version == claimed.version, "a renewal is no change"

    # If frozen for longer than its lease, another worker gets its order and its late result is dropped.
    # Freeze it right after a beat: during one, it would hold the database's lock.
    beaten = world.orders.get(long).lease_until
    worker.until(lambda: world.orders.get(long).lease_until != beaten)
    os.killpg(worker.process.pid, signal.SIGSTOP)
    until(lambda: world.runner("other").run(long, "decode") is State.COMPLETED, LEASE_S + SOON_S, every_s=0.1)
    worker.hold(False)
    os.killpg(worker.process.pid, signal.SIGCONT)
    worker.until(lambda: worker.measured(STAGES, stage="decode", outcome="dropped") == 1)
    assert worker.measured("saycart_lease_troubles_total", trouble="lost") <= 1
    assert world.types(long) == ["received", "transcribed", "decoded", "accepted"]

    # Redis loses everything: one sweep recovers.
    worker.redis.flushall()
    orders = [world.typed() for _ in range(5)]
    assert sweep(worker.parts, idle_s=0) == 5
    worker.until(lambda: {worker.state(order_id) for order_id in orders} == {State.COMPLETED})

    # Its metrics include work done in its child process.
    for stage in ("decode", "validate"):
        assert worker.measured(STAGES, stage=stage, outcome="done") == 5
    assert worker.measured("saycart_worker_slots", part="decode") == 1
    assert worker.measured("saycart_problems_total", code="internal", kind="fault") == 0

    # Stopped during an endless decode, it returns the order with its attempt, and rings.
    worker.hold(True)
    last = worker.order()
    worker.until(lambda: worker.asked() == 7)
    assert worker.asked_to_stop() == 0
    given_back = world.orders.get(last)
    assert (given_back.state, given_back.lease_owner, given_back.attempt) == (State.TRANSCRIBED, None, 0)
    assert worker.redis.llen("decode") == 1
    assert (worker.parts.doorbell.held(0) or {}).get(State.TRANSCRIBED)

    # The queue's user has all permissions that workers and sweepers need, and no log has its password.
    # Clients ask newer servers for maintenance notices, with a command that may be refused.
    assert {entry["object"] for entry in worker.redis.acl_log()} <= {"client"}
    assert (worker.home / "redis" / "password").read_text() not in worker.log()


@ON_SQLITE
def test_a_stopped_worker_finishes_in_time(start: Callable[..., Worker]) -> None:
    worker = start(PATIENT_S, threads=1)
    worker.hold(True)
    order_id = worker.order()
    worker.until(lambda: worker.asked() == 1)
    worker.process.send_signal(signal.SIGTERM)
    worker.until(lambda: "Warm shutdown" in worker.log())
    worker.hold(False)
    assert worker.process.wait(SOON_S) == 0
    assert worker.state(order_id) is State.COMPLETED
    assert "gave_back" not in worker.log()


def test_eight_threads_decode_eight_orders_at_once(start: Callable[..., Worker]) -> None:
    worker = start(SHORT_S, threads=8)
    world = worker.world
    worker.hold(True)
    orders = [worker.order() for _ in range(8)]
    worker.until(lambda: worker.asked() == 8)
    assert {worker.state(order_id) for order_id in orders} == {State.TRANSCRIBED}
    assert worker.measured("saycart_worker_slots_busy") == worker.measured("saycart_worker_slots") == 8
    worker.hold(False)
    worker.until(lambda: {worker.state(order_id) for order_id in orders} == {State.COMPLETED})
    worker.until(lambda: worker.redis.hlen("unacked") == 0)
    for order_id in orders:
        assert world.types(order_id) == ["received", "transcribed", "decoded", "accepted"]
    worker.hold(True)
    kept = [worker.order() for _ in range(8)]
    worker.until(lambda: worker.asked() == 16)
    assert worker.asked_to_stop() == 0
    freed = [world.orders.get(order_id) for order_id in kept]
    assert {(order.lease_owner, order.attempt) for order in freed} == {(None, 0)}
    assert worker.redis.llen("decode") == 8
