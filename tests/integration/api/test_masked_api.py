"""`/v1/masked` over real HTTP with a scripted decode server: answers, errors, limits."""

# ruff: noqa: F811  (fixtures of masked_world.py, asked for by name)
from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import structlog

from infra.settings import Settings
from schemas.errors import InputError
from schemas.masked import MAX_TEXT_CHARS
from services.api.routes import masked as route
from services.decoding import tasks
from services.decoding.tasks import registered
from services.settings_checks import check_tasks
from services.workers.children import as_environment
from services.workers.stack import Stack
from tests.integration.api_world import World, expect_problem, running
from tests.integration.masked_world import (  # noqa: F401
    GOOD,
    IN_FLIGHT,
    REFUSED,
    SAID,
    TASKS,
    held,
    says,
    server,
    shared,
    world,
)
from tests.masked_tasks import TICKET
from tests.processes.parts import python
from tests.servers.staged_server import Answer, StagedServer, completion, is_probe
from tests.waiting import until


def ask(world: World, name: str = "ticket", **body: Any) -> Any:
    return world.http.post(f"/v1/masked/{name}", json={"text": SAID, **body})


def metric(world: World, name: str, **labels: str) -> float:
    text = world.http.get("/metrics").text
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    lines = [line for line in text.splitlines() if line.startswith(name) and all(w in line for w in wanted)]
    return sum(float(line.rpartition(" ")[2]) for line in lines if line[len(name)] in "{ ")


def test_tasks_are_listed(world: World) -> None:
    found = world.http.get("/v1/masked").json()["tasks"]
    assert [(task["name"], task["form"]) for task in found] == [("ticket", "json"), ("word", "grammar")]
    ticket = world.http.get("/v1/masked/ticket").json()
    assert ticket == found[0]
    assert ticket["version"] == TICKET.output.mask.version
    assert ticket["schema"]["properties"]["priority"]["enum"] == ["low", "medium", "high"]
    assert ticket["about"] == TICKET.about
    assert found[1]["schema"] is None
    expect_problem(world.http.get("/v1/masked/tickets"), 404, "unknown_task")


def test_an_answer(world: World, server: StagedServer) -> None:
    answer = ask(world)
    assert answer.status_code == 200, answer.text
    seconds = answer.json()["engine"].pop("seconds")
    assert answer.json() | {"engine": {}} == {
        "task": "ticket",
        "version": TICKET.output.mask.version,
        "answer": {"priority": "high", "needs_human": True, "note": "Mrs. Abernathy"},
        "probability": None,
        "engine": {},
    }
    assert answer.json()["engine"].items() >= {"prompt_tokens": 11, "completion_tokens": 22}.items()
    assert 0 <= seconds < 5
    (body,) = [body for body in server.bodies if not is_probe(body)]
    assert body["messages"] == TICKET.messages(SAID)
    assert body["grammar"] == TICKET.output.mask.lark
    says(server, completion("yes"))
    assert ask(world, "word").json()["answer"] == "yes"


FAILURES: dict[str, tuple[Answer, int, str, bool]] = {
    "cut off": (completion(GOOD[:20], "length"), 502, "decode_truncated", False),
    "outside the mask": (completion("Sure! high"), 502, "decode_invalid", False),
    "refused by its rules": (completion(REFUSED), 422, "answer_refused", False),
    "away": ((503, b"loading"), 503, "engine_unavailable", True),
    "set up wrongly": ((400, b"no such field"), 502, "engine_misconfigured", False),
}


@pytest.mark.parametrize("what", FAILURES)
def test_each_failure_has_its_own_problem_and_metric(world: World, server: StagedServer, what: str) -> None:
    answer, status, code, again = FAILURES[what]
    ask(world)  # the server is known
    before = metric(world, "saycart_masked_seconds_count", task="ticket", outcome=code)
    says(server, answer)
    found = ask(world)
    problem = expect_problem(found, status, code)
    assert problem["retryable"] == again
    assert ("retry-after" in found.headers) == again
    assert "Abernathy" not in found.text
    assert metric(world, "saycart_masked_seconds_count", task="ticket", outcome=code) == before + 1
    if code == "answer_refused":
        assert problem["errors"] == [{"pointer": "/", "detail": "Value error, nobody looks at …"}]


def test_without_a_decode_server_it_is_503(tmp_path: Path) -> None:
    with running(tmp_path, masked_tasks=TASKS) as alone:
        problem = expect_problem(ask(alone), 503, "engine_unavailable")
        assert "SAYCART_LLM_URL" in problem["hint"]


def test_bodies_are_limited(world: World, server: StagedServer) -> None:
    expect_problem(ask(world, "ticket", more="a" * route.MAX_BODY_BYTES), 413, "body_too_large")
    # The longest text in its longest encoding fits.
    longest = json.dumps({"text": "🍵" * MAX_TEXT_CHARS}).encode()
    header = {"Content-Type": "application/json"}
    assert world.http.post("/v1/masked/ticket", content=longest, headers=header).status_code == 200


def test_concurrent_calls_are_limited(world: World, server: StagedServer) -> None:
    ask(world)
    arrived, release = held(server)
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        calls = [pool.submit(ask, world) for _ in range(IN_FLIGHT)]
        for _ in calls:
            assert arrived.acquire(timeout=10)
        assert metric(world, "saycart_masked_busy") == metric(world, "saycart_masked_limit") == IN_FLIGHT
        refused = ask(world)
        expect_problem(refused, 503, "masked_busy")
        assert int(refused.headers["retry-after"]) >= 1
        assert world.text("a latte")["id"], "orders are taken meanwhile"
        release.set()
        assert [call.result(20).status_code for call in calls] == [200] * IN_FLIGHT
    assert ask(world).status_code == 200
    assert metric(world, "saycart_masked_busy") == 0


def test_a_disconnect_cancels_the_decode(world: World, server: StagedServer) -> None:
    ask(world)
    arrived, release = held(server)
    server.gone.clear()
    counted = {"task": "ticket", "outcome": "decode_cancelled"}
    before = metric(world, "saycart_masked_seconds_count", **counted)
    body = json.dumps({"text": SAID}).encode()
    with socket.create_connection(("127.0.0.1", world.port), 20) as line:
        line.sendall(
            b"POST /v1/masked/ticket HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + world.line()
            + f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        assert arrived.acquire(timeout=10)
        assert not server.gone.is_set()
    assert server.gone.wait(10), "the server was left to decode for nobody"
    release.set()
    until(lambda: metric(world, "saycart_masked_seconds_count", **counted) == before + 1)
    until(lambda: metric(world, "saycart_masked_busy") == 0)


def test_a_call_ends_at_its_timeout(
    tmp_path: Path, server: StagedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, llm_url=server.url, masked_tasks=TASKS) as hasty:
        ask(hasty)  # probing a new server is not timed
        monkeypatch.setattr(tasks, "TIMEOUT_S", 0.3)
        arrived, release = held(server)
        began = time.monotonic()
        expect_problem(ask(hasty), 503, "engine_unavailable")
        assert time.monotonic() - began < 15
        assert arrived.acquire(timeout=1)
        release.set()


def test_nothing_is_stored_and_no_text_is_logged(
    world: World, server: StagedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    orders = world.http.get("/v1/orders").json()
    files = world.recordings
    capsys.readouterr()
    before = structlog.get_config()["wrapper_class"]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(0))
    try:
        for answer in (GOOD, REFUSED, "Abernathy"):
            says(server, completion(answer))
            ask(world)
    finally:
        structlog.configure(wrapper_class=before)
    logged = capsys.readouterr().out
    assert "masked.answered" in logged
    assert "answer_refused" in logged
    assert "decode_invalid" in logged
    assert "abernathy" not in logged.lower()
    assert world.http.get("/v1/orders").json() == orders
    assert world.recordings == files


NOT_LOADED: dict[str, tuple[str, str]] = {
    "no module": ("no.such.module:TASKS", "no.such.module:TASKS can't be loaded: ModuleNotFoundError"),
    "no attribute": ("tests.masked_tasks:NONE", "tests.masked_tasks:NONE can't be loaded: AttributeError"),
    "no attribute named": ("tests.masked_tasks", "tests.masked_tasks can't be loaded: AttributeError"),
    "no tasks": ("tests.masked_tasks:NOT_TASKS", "it is dict, not Tasks"),
    "no list": ("tests.masked_tasks:Ticket", "not Tasks"),
    "two of a name": (f"{TASKS},{TASKS}", "Two tasks have the name 'ticket'"),
    "can't be masked": ("tests.open_tasks:TASKS", "/text: text without a maximum length"),
}


@pytest.mark.parametrize("what", NOT_LOADED)
def test_invalid_tasks_are_reported_with_their_setting(what: str) -> None:
    named, words = NOT_LOADED[what]
    with pytest.raises(InputError) as caught:
        registered(named)
    assert caught.value.detail.startswith("SAYCART_MASKED_TASKS")
    assert words in caught.value.detail
    assert caught.value.hint


def test_invalid_tasks_prevent_the_start(tmp_path: Path) -> None:
    wanted = Settings(home=tmp_path, masked_tasks="no.such:TASKS")
    with pytest.raises(InputError, match="SAYCART_MASKED_TASKS"):
        Stack(wanted).start()
    assert not (tmp_path / "run").exists(), "nothing was begun"
    check_tasks(Settings(home=tmp_path))
    done = python("-m", "services.api", env=as_environment(wanted))
    assert done.returncode == 1
    assert "SAYCART_MASKED_TASKS: no.such:TASKS can't be loaded" in done.stderr
    assert "PYTHONPATH" in done.stderr
