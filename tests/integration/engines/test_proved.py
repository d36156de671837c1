"""Decode servers must pass the probe before an order; orders wait during short outages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from infra.processes.ports import any_free
from infra.settings import Settings
from schemas.errors import DecodeInvalid, EngineMisconfigured, EngineUnavailable
from services.bootstrap import bootstrap
from services.decoding import decoder as decoder_module
from services.decoding.decoder import OpenAIDecoder
from services.decoding.menu_names import Names
from services.decoding.ports import CartRequest
from services.decoding.wire_mask import PROBE_ANSWER, wire_mask
from tests.servers.staged_server import Answer, StagedServer, completion, is_probe, spelled, staged_server
from tests.stand_ins import CAFE, RIGHT, SAID
from tests.waiting import until

ORDER = CartRequest(SAID, CAFE)
WIRE = spelled(RIGHT, CAFE)
AWAY: Answer = (503, b"")


def masked(body: dict[str, Any]) -> Answer:
    return completion(PROBE_ANSWER if is_probe(body) else WIRE)


def unmasked(body: dict[str, Any]) -> Answer:
    return completion("hello")


def away(body: dict[str, Any]) -> Answer:
    return AWAY


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StagedServer]:
    monkeypatch.setattr(decoder_module, "POLL_S", 0.05)
    with staged_server(masked) as staged:
        yield staged


def decoder_of(server: StagedServer, patience_s: float = 5.0) -> OpenAIDecoder:
    return server.decoder(proved=False, timeout_s=5.0, patience_s=patience_s)


def orders(server: StagedServer) -> int:
    return sum(not is_probe(body) for body in server.bodies)


def probes(server: StagedServer) -> int:
    return sum(map(is_probe, server.bodies))


def test_a_failed_call_is_retried_once(server: StagedServer) -> None:
    """Another server behind the same address may answer."""
    server.answer = lambda body: AWAY if len(server.bodies) == 1 else masked(body)
    assert decoder_of(server).decode(ORDER).text == WIRE
    server.answer, before = away, len(server.bodies)
    with pytest.raises(EngineUnavailable):
        decoder_of(server).decode(ORDER)
    assert len(server.bodies) - before == 2


def test_an_order_waits_for_a_restarting_server(server: StagedServer) -> None:
    server.answer, server.health = away, 503
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(decoder_of(server).decode, ORDER)
        assert server.looked_at.wait(10)
        server.answer, server.health = masked, 200
        assert work.result(30).text == WIRE


@pytest.mark.parametrize("called_off", [False, True])
def test_it_waits_for_a_limited_time_and_stops_when_cancelled(
    server: StagedServer, called_off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder_module, "RECOVERY_S", 3600.0 if called_off else 0.6)
    server.answer, server.health, gone = away, 503, threading.Event()
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(decoder_of(server).decode, ORDER, gone)
        assert server.looked_at.wait(10)
        if called_off:
            gone.set()
        with pytest.raises(EngineUnavailable):
            work.result(30)


def test_a_slow_failure_is_not_retried(server: StagedServer) -> None:
    server.answer = away
    with pytest.raises(EngineUnavailable):
        decoder_of(server, patience_s=0.0).decode(ORDER)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "trouble", [AWAY, completion("hello")], ids=["an outage", "an answer outside the mask"]
)
def test_one_probe_is_enough_until_a_failure(server: StagedServer, trouble: Answer) -> None:
    decoder = decoder_of(server, patience_s=0.0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(decoder.decode, [ORDER] * 8))
    assert (probes(server), orders(server)) == (1, 8)
    server.answer = lambda body: trouble
    with pytest.raises((EngineUnavailable, DecodeInvalid)):
        decoder.decode(ORDER)
    server.answer = masked
    decoder.decode(ORDER)
    assert probes(server) == 2


def test_a_rejected_request_is_not_a_server_failure(server: StagedServer) -> None:
    server.answer = lambda body: masked(body) if is_probe(body) else (400, b"prompt too long")
    decoder = decoder_of(server)
    for _ in range(2):
        with pytest.raises(EngineMisconfigured) as refused:
            decoder.decode(ORDER)
    assert "too long" in refused.value.whole
    assert "too long" not in refused.value.detail, (
        "a server's message may quote the order, so it is not logged"
    )
    assert (probes(server), orders(server)) == (1, 2)


PROOFS: dict[str, tuple[Callable[[dict[str, Any]], Answer], type[Exception]]] = {
    "answers without the mask": (unmasked, EngineMisconfigured),
    "may yet come": (away, EngineUnavailable),
}


@pytest.mark.parametrize("act", ["verify", "decode", "warm"])
@pytest.mark.parametrize("case", PROOFS)
def test_no_order_goes_to_a_server_that_failed_the_probe(server: StagedServer, case: str, act: str) -> None:
    server.answer, error = PROOFS[case]
    decoder = decoder_of(server)
    acts: dict[str, Callable[[], object]] = {
        "verify": decoder.verify,
        "decode": lambda: decoder.decode(ORDER),
        "warm": lambda: decoder.warm(CAFE),
    }
    with pytest.raises(error):
        acts[act]()
    assert orders(server) == 0
    server.answer = masked
    acts[act]()
    assert orders(server) == (act != "verify")


def test_the_probe_counts_toward_a_calls_timeout(server: StagedServer) -> None:
    go_on = threading.Event()

    def busy(body: dict[str, Any]) -> Answer:
        if is_probe(body):
            go_on.wait(20)
        return masked(body)

    server.answer = busy
    chat, mask = [{"role": "user", "content": "hello"}], wire_mask(Names(CAFE), SAID)
    decoder, began = decoder_of(server), time.monotonic()
    with pytest.raises(EngineUnavailable, match="did not answer within"):
        decoder.complete(chat, mask, timeout_s=0.3)
    assert time.monotonic() - began < 4, "it waited for the probe as an order does"
    go_on.set()
    assert decoder.complete(chat, mask, timeout_s=20).text == WIRE


def test_waiting_for_a_failed_server_counts_toward_a_calls_timeout(
    server: StagedServer,
) -> None:
    server.answer, server.health = away, 503
    chat, mask = [{"role": "user", "content": "hello"}], wire_mask(Names(CAFE), SAID)
    decoder, began = decoder_of(server), time.monotonic()
    with pytest.raises(EngineUnavailable):
        decoder.complete(chat, mask, timeout_s=0.5)
    assert time.monotonic() - began < 4


def test_a_failure_during_a_probe_voids_it(server: StagedServer) -> None:
    probed, go_on = threading.Event(), threading.Event()

    def slow(body: dict[str, Any]) -> Answer:
        probed.set()
        go_on.wait(20)
        return masked(body)

    server.answer, decoder = slow, decoder_of(server)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(decoder.decode, ORDER)
        assert probed.wait(10)
        server.health = 503
        assert decoder.status(5) == "answers 503"
        go_on.set()
        assert first.result(20).text == WIRE
    decoder.decode(ORDER)
    assert probes(server) == 2


def test_status(server: StagedServer) -> None:
    decoder = decoder_of(server)
    assert decoder.status(5) == "ok"
    assert decoder.status(5) == "ok"
    assert probes(server) == 1, "asked at each scrape"
    server.health = 503
    assert decoder.status(5) == "answers 503"
    server.health, server.answer = 200, unmasked  # restarted without guided decoding
    assert decoder.status(5).startswith("refused")
    absent = OpenAIDecoder(f"http://127.0.0.1:{any_free()}", dialect="vllm", model="m")
    assert absent.status(5) == "no answer"


def test_the_configured_server_and_its_status_in_readyz(server: StagedServer, tmp_path: Path) -> None:
    parts = bootstrap(Settings(home=tmp_path, llm_url=server.url, llm_model="qwen"))
    parts.prove_decoder()
    assert parts.decoder.decode(ORDER).text == WIRE
    until(lambda: parts.ready()["decoder"] == "ok")
    server.health = 503
    until(lambda: parts.ready()["decoder"] == "answers 503")
    parts.close()
