"""Traces, as a real collector gets them: what belongs together, who is believed, and what it may cost."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from structlog.testing import capture_logs

from infra.blobs.folder import BlobFolder
from infra.observability import otlp, tracing
from infra.observability.telemetry import configure_logging
from infra.settings import REPOSITORY, Settings
from infra.sql.database import Database
from schemas.errors import DecodeInvalid, EngineUnavailable, InputError
from services.bootstrap import Container
from services.decoding.calls import Calls
from services.decoding.ports import CartRequest, Reading
from tests.counted_messages import counted
from tests.integration import api_world
from tests.integration.api_world import MENU, World
from tests.servers.collector import Collector, collecting, traced
from tests.stand_ins import Works

world, lone_world = api_world.world, api_world.lone_world
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TEXT = {"transcript": "a latte", "menu": MENU["id"]}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def order(world: World, **headers: str) -> str:
    answer = world.http.post("/v1/orders", json=TEXT, headers=headers)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def test_a_request_is_a_trace_of_its_own_and_its_order_keeps_it(world: World, collector: Collector) -> None:
    with traced(collector):
        order_id = order(world)
        assert world.http.get("/v1/orders/ord_none").status_code == 404
        assert world.http.get("/livez").status_code == 200
    asked, accept, store = (collector.one(name) for name in ("POST /v1/orders", "accept", "store order"))
    assert (asked.kind, asked.parent, asked.part) == ("server", "", "saycart-api")
    assert asked.attributes == {
        "http.request.method": "POST", "http.route": "/v1/orders", "http.response.status_code": 202
    }  # fmt: skip
    assert (accept.parent, store.parent) == (asked.id, accept.id)
    assert {span.trace for span in (asked, accept, store)} == {asked.trace}
    assert accept.attributes == {"saycart.shop": "main", "saycart.order.id": order_id}
    assert accept.is_at(world.parts.orders.get(order_id).traceparent)
    missing = collector.one("GET /v1/orders/{order_id}")
    assert missing.attributes["http.response.status_code"] == 404
    assert not missing.failed
    assert missing.trace != asked.trace
    assert len(collector.spans) == 4, "the probe has no span"


def test_a_traceparent_counts_with_a_good_key_alone(world: World, collector: Collector) -> None:
    with traced(collector):
        order(world, traceparent=CALLER)
        believed = {"tracestate": "a=b", "baggage": "customer=ada"}
        order(world, traceparent=CALLER.replace("00f067aa0ba902b7", "1111111111111111"), **believed)
        with httpx.Client(base_url=world.url, headers={"traceparent": CALLER, "Origin": world.url}) as alien:
            assert alien.post("/v1/orders", json=TEXT).status_code == 401
            wrong = {"Authorization": "Bearer nobody's"}
            assert alien.post("/v1/orders", json=TEXT, headers=wrong).status_code == 401
            assert alien.get("/sign-in").status_code == 200
            assert alien.post("/orders", data=TEXT).status_code == 303
        order(world, traceparent="00-zz-zz-01")
    told = [span for span in collector.spans if span.trace == CALLER.split("-")[1]]
    roots = {span.parent for span in told if span.kind == "server"}
    assert roots == {"00f067aa0ba902b7", "1111111111111111"}
    assert len(told) == 6
    mine = [span for span in collector.spans if span.kind == "server" and span not in told]
    assert [span.attributes["http.response.status_code"] for span in mine] == [401, 401, 200, 303, 202]
    accepted = {span.parent for span in collector.named("accept")}
    assert mine[3].id in accepted, "a customer's order is traced as well"
    assert {span.parent for span in mine} == {""}
    # The one that was held back until its key was looked up has its whole length.
    held = next(span for span in told if span.kind == "server")
    assert all(
        held.began <= span.began and span.ended <= held.ended for span in told if span.parent == held.id
    )


def test_the_caller_may_leave_a_request_out_and_can_ask_for_no_more_than_our_share(
    world: World, collector: Collector
) -> None:
    with traced(collector):
        unasked = order(world, traceparent=CALLER[:-1] + "0")
    with traced(collector, sample=0.0):
        over, own = order(world, traceparent=CALLER), order(world)
    assert collector.spans == []
    kept = [world.parts.orders.get(order_id).traceparent for order_id in (unasked, over, own)]
    # So that what follows is left out as well; another bit says that an id is random.
    assert [int(found[-2:], 16) & 1 for found in kept] == [0, 0, 0]
    assert {found.split("-")[1] for found in kept[:2]} == {CALLER.split("-")[1]}


def test_every_attempt_is_below_the_acceptance_also_when_it_is_replayed(
    world: World, collector: Collector
) -> None:
    works = Works(world.parts.database, world.parts.blobs)
    with traced(collector):
        with tracing.continued(None), tracing.span("accept", kind="server"):
            order_id = works.typed("a large latte with oat milk and a blueberry muffin, in a trace")
            traceparent = tracing.current_traceparent()
        works._set(order_id, f"traceparent = '{traceparent}'")
        failures = [EngineUnavailable("away"), DecodeInvalid("outside", quoted="a latte")]
        decode = works.decoder.decode

        def failing(asked: CartRequest, *more: Any, **how: Any) -> Reading:
            # Other tests' orders may wait in this database, and be decoded first.
            if failures and asked.transcript.endswith("in a trace"):
                raise failures.pop(0)
            return decode(asked, *more, **how)

        works.decoder.decode = failing  # type: ignore[method-assign]
        assert works.until_settled(order_id).state.value == "in_review"
        works.orders.replay(order_id)
        assert works.until_settled(order_id).state.value == "completed"
    accept, stages = collector.one("accept"), collector.of(order_id)
    assert {(span.parent, span.trace, span.kind) for span in stages} == {
        (accept.id, accept.trace, "consumer")
    }
    assert [
        (span.name, span.attributes["saycart.attempt"], span.attributes["saycart.outcome"]) for span in stages
    ] == [
        ("stage decode", 1, "retry"), ("stage decode", 2, "in_review"),
        ("stage decode", 1, "decoded"), ("stage validate", 1, "completed"),
    ]  # fmt: skip
    assert [span.attributes.get("error.type") for span in stages if span.failed] == [
        EngineUnavailable.code, DecodeInvalid.code
    ]  # fmt: skip
    assert all(span.attributes["saycart.waited_s"] >= 0 for span in stages)


def test_a_review_is_linked_to_the_orders_trace(world: World, collector: Collector) -> None:
    with traced(collector):
        order_id, review_id = world.doubted()
        claim = world.http.post(f"/v1/reviews/{review_id}/claim", json={}, headers=world.bearing("bob"))
        decided = world.http.post(
            f"/v1/reviews/{review_id}/decision",
            json={"version": claim.json()["version"], "action": "reject", "reason": "who wants that"},
            headers=world.bearing("bob"),
        )
        assert decided.status_code == 200, decided.text
        collector.told_of("POST /v1/reviews/{review_id}/decision")
    accept, decision = collector.one("accept"), collector.one("decide review")
    asked = collector.one("POST /v1/reviews/{review_id}/decision")
    assert decision.links == (accept.id,)
    assert (decision.parent, decision.trace) == (asked.id, asked.trace)
    assert asked.trace != accept.trace
    assert decision.attributes == {"saycart.order.id": order_id, "saycart.action": "reject"}


def test_requests_to_a_decode_server_carry_the_trace(collector: Collector) -> None:
    """The stand-in collector takes any POST; it is a bad decode server, which is told by a span as well."""
    calls = Calls(collector.url, timeout_s=5)
    heard: list[str | None] = []
    send = calls._http.build_request

    def watched(*args: Any, **kwargs: Any) -> httpx.Request:
        request = send(*args, **kwargs)
        heard.append(request.headers.get("traceparent"))
        return request

    calls._http.build_request = watched  # type: ignore[method-assign]
    collector.answers = 418
    with traced(collector):
        with pytest.raises(Exception, match="refused"):
            calls.post("/v1/chat/completions", {})
        with tracing.span("stage decode", kind="consumer"), pytest.raises(Exception, match="refused"):
            calls.post("/v1/chat/completions", {})
        collector.answers = 200
    assert heard[0] is None, "warming a menu is in no trace"
    asked = collector.one("POST /v1/chat/completions")
    assert asked.is_at(heard[1])
    assert (asked.kind, asked.parent) == ("client", collector.one("stage decode").id)
    assert asked.attributes["http.response.status_code"] == 418
    assert (asked.failed, asked.attributes["error.type"]) == (True, "engine_misconfigured")


def test_lines_of_a_span_carry_its_trace(capsys: pytest.CaptureFixture[str], collector: Collector) -> None:
    known = structlog.get_config()
    configure_logging("INFO", as_json=False)
    try:
        log = structlog.get_logger("of this test")
        with traced(collector), tracing.span("stage read", kind="consumer"):
            log.info("within")
        log.info("without")
    finally:
        structlog.configure(**known)
    within, without = [line for line in capsys.readouterr().err.splitlines() if "with" in line]
    assert f"trace_id='{collector.one('stage read').trace}'" in within
    assert "trace_id" not in without


@pytest.mark.parametrize("how", ["refuses", "hangs"])
def test_a_collector_that_is_away_costs_no_order_anything(
    lone_world: World, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "CLOSE_S", 0.5)
    monkeypatch.setattr(otlp, "DELAY_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as deaf, capture_logs() as lines:
        port = deaf.getsockname()[1] if how == "hangs" else 1
        tracing.start(Settings(traces_url=f"http://127.0.0.1:{port}"), "api")
        try:
            for _ in range(3 * otlp.WAITING):
                with tracing.span("stage read", kind="consumer"):
                    pass
            spans = tracing._spans
            assert spans is not None
            waiting = len(spans._queue._batch_processor._queue)
            assert waiting <= otlp.WAITING
            assert order(lone_world)
        finally:
            tracing.stop()
    told = [line for line in lines if line["event"].startswith("traces.")]
    [lost] = [line for line in told if line["event"] == "traces.lost"]
    assert lost["spans"] == lost["of"] == 3 * otlp.WAITING + 3
    assert len(told) <= 2, "not a line for each span or batch"


def test_a_collector_that_comes_back_is_told_the_rest(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "DELAY_S", 0.02)
    with capture_logs() as lines, traced(collector):
        for number, answers in enumerate((400, 400, 200), 1):
            collector.answers = answers
            with tracing.span("stage read", kind="consumer"):
                pass
            collector.until(lambda number=number: collector.asked == number)  # type: ignore[misc]
    told = [line for line in lines if line["event"].startswith("traces.")]
    assert [line["event"] for line in told] == ["traces.not_sent", "traces.sent_again", "traces.lost"]
    assert (told[1]["dropped"], told[2]["spans"], len(collector.spans)) == (2, 2, 1)


def test_traces_cost_no_message_to_the_database(database: Database, tmp_path: Path) -> None:
    works = Works(database, BlobFolder(tmp_path))

    def messages() -> dict[str, int]:
        with counted(database) as found:
            works.until_settled(works.typed())
        return dict(found)

    messages()  # the first opens the connection
    without = messages()
    with collecting() as collector, traced(collector):
        assert messages() == without


def test_what_is_off_imports_nothing_and_makes_nothing() -> None:
    code = """
import sys
import infra.observability.tracing as tracing, services.decoding.calls
import services.pipeline.runner, services.workers.courier
from infra.settings import Settings
tracing.start(Settings(), "api")
with tracing.continued("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"):
    with tracing.span("x", kind="server"):
        tracing.note({"a": 1})
        assert tracing.current_traceparent() is None and tracing.headers() == {}
assert tracing.serving("GET", None, shows_key=True) is None
tracing.stop()
# FastAPI imports the API package, and redis-py of the SDK what it needs for metrics, whatever we do.
ours = ("infra.observability.otlp", "opentelemetry.sdk.trace", "opentelemetry.exporter")
print(sorted(name for name in sys.modules if name.startswith(ours)))
"""
    assert _python(code).stdout.strip() == "[]"


def test_set_without_its_packages_says_what_to_install(tmp_path: Path) -> None:
    """For each part: at its start, in a sentence, and not in a loop of children."""
    hide = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
"""
    parts = {
        "api": "import services.api.__main__ as it; it.main()",
        "sweeper": "import services.workers.sweeper as it; it.main()",
        "worker": "import services.workers.app as it; it._trust_decoder()",
    }
    env = {
        "SAYCART_TRACES_URL": "http://127.0.0.1:1",
        "SAYCART_HOME": str(tmp_path),
        "REDIS_URL": "redis://x",
    }
    code = "\n".join(
        f"try:\n    {line}\nexcept SystemExit as error:\n    print('{part}', error)"
        for part, line in parts.items()
    )
    said = _python(hide + code, **env).stdout.splitlines()
    assert [line.split()[0] for line in said] == list(parts)
    assert all('pip install "saycart[traces]"' in line for line in said)


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="SAYCART_TRACES_URL is no http address"):
        Container(Settings(home=tmp_path, traces_url="collector:4317"))


def test_fastapis_own_telemetry_is_off(world: World) -> None:
    """It tells whole addresses, with page keys and customers' links in them."""
    app: Any = world.server._app
    assert {app._telemetry[name] for name in ("tracing", "metrics", "logs", "auto_configure")} == {False}


def _python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(REPOSITORY), **env},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done
