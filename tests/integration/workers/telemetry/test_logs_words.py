"""No log line or span has a customer's words, whatever goes wrong."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest

from infra.observability import tracing
from infra.observability.telemetry import trace
from infra.settings import REPOSITORY
from tests.integration.api_world import running
from tests.integration.marked import SAID, TELLS, WORD, Marked, faults
from tests.processes.parts import python
from tests.servers.collector import collecting, traced


def test_no_log_line_has_the_word(tmp_path: Path, database_url: str) -> None:
    program = Path(__file__).parents[2] / "marked.py"
    done = python(program, tmp_path, database_url, env={"PYTHONPATH": str(REPOSITORY)})
    assert done.returncode == 0, done.stderr[-3000:]
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if WORD in line.lower()] == []
    # Proves that these events were logged.
    happened = set(re.findall(r"event='([\w.]+)'", done.stderr))
    assert happened >= {
        "order.accepted", "stage.done", "stage.fault", "stage.failed", "stage.refused", "request.done",
        "request.failed", "row.left_out", "review.decided", "request.refused", "the.database_refuses",
    }  # fmt: skip
    assert "level='debug'" in done.stderr
    # Details that help to find a fault remain.
    assert "ValidationError" in done.stderr
    assert "orders.py" in done.stderr


def test_a_traceback_has_places_but_no_messages() -> None:
    def broken() -> None:
        try:
            raise ValueError(WORD)
        except ValueError as error:
            raise ConnectionRefusedError(111, "not there", "/run/x") from error

    with pytest.raises(OSError, match="not there") as caught:
        broken()
    shown = trace((caught.type, caught.value, caught.tb))
    assert "not there: '/run/x'" in shown
    assert "ValueError" in shown
    assert "test_logs_words.py" in shown
    assert WORD not in shown


def test_no_span_has_the_word(tmp_path: Path) -> None:
    with collecting() as collector, traced(collector), running(tmp_path, **TELLS) as world:
        marked = Marked.of(world)
        made = marked.all()
        page = world.link(made[0])
        assert world.http.get(page, follow_redirects=True).status_code == 200
        world.http.get("/v1/orders", params={"status": WORD})
        world.http.get(f"/{WORD}", headers={"X-Request-ID": f"{WORD}-12345", "tracestate": f"a={WORD}"})
        world.http.request(WORD.upper(), "/v1/orders")
        faults(marked)
        with suppress(ValueError), tracing.span("stage read", kind="consumer"):
            raise ValueError(SAID)
        for order_id in made:
            assert world.http.delete(f"/v1/orders/{order_id}/data").status_code == 200
    sent = b"".join(collector.bodies).lower()
    for word in (WORD, SAID, "latte", "mocha", page, world.http.headers["authorization"].split()[1]):
        assert word.lower().encode() not in sent
    # These attributes are all; none can hold names, prices or error messages.
    names = {name for span in collector.spans for name in span.attributes}
    assert names == {
        "error.type", "http.request.method", "http.response.status_code", "http.route",
        "saycart.action", "saycart.attempt", "saycart.order.id", "saycart.outcome", "saycart.shop",
        "saycart.waited_s",
    }  # fmt: skip
    # Proves that these spans were sent.
    assert {span.name for span in collector.spans} >= {
        "accept", "receive recording", "store recording", "store order", "decide review",
        "stage transcribe", "stage read", "stage decode", "stage validate",
    }  # fmt: skip
    failed = {span.attributes.get("error.type") for span in collector.spans if span.failed}
    assert failed >= {"decode_invalid", "audio_damaged", "ValidationError", "500"}
