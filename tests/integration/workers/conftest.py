"""A real Redis, shared by a file's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.processes.ports import any_free
from infra.processes.supervisor import Supervisor
from infra.redis.server import EmbeddedRedis


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    home = tmp_path_factory.mktemp("redis")
    embedded = EmbeddedRedis(home / "redis", any_free(), home / "redis.log")
    supervisor = Supervisor(home)
    supervisor.start([embedded.child()])
    yield embedded
    supervisor.stop()
