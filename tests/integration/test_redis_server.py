"""The embedded Redis: the real binary."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from infra.ports import any_free
from infra.redis_server import EmbeddedRedis, binary, version
from infra.supervisor import Restart, Supervisor


@pytest.fixture
def server(tmp_path: Path) -> EmbeddedRedis:
    return EmbeddedRedis(tmp_path / "redis", any_free(), tmp_path / "logs" / "redis.log")


@pytest.fixture
def running(tmp_path: Path, server: EmbeddedRedis) -> Iterator[Supervisor]:
    supervisor = Supervisor(tmp_path)
    supervisor.start([server.child()])
    yield supervisor
    supervisor.stop()


def test_the_wheel_carries_a_server_that_runs() -> None:
    assert binary().name == "redis-server"
    assert "v=" in version()


def test_what_was_queued_survives_kill_9_and_the_restart(running: Supervisor, server: EmbeddedRedis) -> None:
    client = redis.Redis.from_url(server.url)
    client.rpush("queue", "order-1", "order-2")
    time.sleep(1.2)  # appendfsync everysec; the kernel keeps it over a kill anyway, this is for the disk
    killed = running.pid("redis")
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    end = time.monotonic() + 10
    while running.pid("redis") in (None, killed) or not server.answers():
        assert time.monotonic() < end, "redis was not started again"
        time.sleep(0.05)
    assert client.lrange("queue", 0, -1) == [b"order-1", b"order-2"]
    client.close()


def test_is_closed_to_others_and_never_forgets(running: Supervisor, server: EmbeddedRedis) -> None:
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=server.port).ping()
    with redis.Redis.from_url(server.url) as client:
        assert (
            client.config_get(
                "bind",
            )["bind"]
            == "127.0.0.1"
        )
        assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
        assert client.config_get("appendonly")["appendonly"] == "yes"
        assert client.config_get("save")["save"] == ""
    password = server.folder / "password"
    assert password.stat().st_mode & 0o077 == 0
    assert (server.folder / "redis.conf").stat().st_mode & 0o077 == 0
    cmdline = Path(f"/proc/{running.pid('redis')}/cmdline").read_bytes()
    assert password.read_bytes() not in cmdline


def test_its_log_says_why_it_can_not_start(tmp_path: Path, server: EmbeddedRedis) -> None:
    from dataclasses import replace

    from infra.supervisor import ChildFailed

    child = replace(server.child(), restart=Restart(0.02))
    (server.folder / "redis.conf").write_text("no-such-setting 1\n")
    with pytest.raises(ChildFailed, match="Bad directive"):
        Supervisor(tmp_path).start([child])
