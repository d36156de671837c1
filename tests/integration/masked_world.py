"""A running API with two masked tasks and a scripted decode server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from services.decoding.wire_mask import PROBE_ANSWER
from tests.integration.api_world import World, running
from tests.servers.staged_server import Answer, StagedServer, completion, is_probe, staged_server

TASKS = "tests.masked_tasks:TASKS"
SAID = "Mrs. Abernathy says that nobody can pay"
GOOD = '{"priority":"high","needs_human":true,"note":"Mrs. Abernathy"}'
REFUSED = GOOD.replace("true", "false")
IN_FLIGHT = 4  # Settings.masked_at_once


@pytest.fixture(scope="module")
def shared() -> Iterator[StagedServer]:
    with staged_server(lambda body: completion("")) as staged:
        yield staged


@pytest.fixture
def server(shared: StagedServer) -> StagedServer:
    says(shared, completion(GOOD))
    shared.gone.clear()
    return shared


def says(server: StagedServer, answer: Answer) -> None:
    """Make the server give this answer; probes always pass."""
    server.answer = lambda body: completion(PROBE_ANSWER) if is_probe(body) else answer
    server.bodies.clear()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, shared: StagedServer) -> Iterator[World]:
    home = tmp_path_factory.mktemp("masked")
    with running(home, llm_url=shared.url, masked_tasks=TASKS) as api:
        yield api


def held(server: StagedServer) -> tuple[threading.Semaphore, threading.Event]:
    """Make the server hold each call until the event is set; the semaphore counts calls."""
    arrived, release = threading.Semaphore(0), threading.Event()

    def slow(body: dict[str, Any]) -> Answer:
        if is_probe(body):
            return completion(PROBE_ANSWER)
        arrived.release()
        release.wait(20)
        return completion(GOOD)

    server.answer = slow
    return arrived, release
