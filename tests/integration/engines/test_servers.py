"""Several decode servers behind one name: who is asked, who is trusted, and what `/readyz` says of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from infra.processes.ports import any_free
from infra.settings import Settings
from schemas.errors import DecodeInvalid, EngineMisconfigured, EngineUnavailable
from services.bootstrap import bootstrap
from services.decoding import servers as several
from services.decoding.decoder import PROBE_WORD, OpenAIDecoder
from services.decoding.menu_names import Names
from services.decoding.ports import CartRequest
from services.decoding.servers import Servers
from services.decoding.wire_mask import wire_mask
from tests.servers.staged_server import Answer, StagedServer, completion, is_probe, spelled, staged_server
from tests.stand_ins import CAFE, RIGHT, SAID
from tests.waiting import until

ORDER = CartRequest(SAID, CAFE)
WIRE = spelled(RIGHT, CAFE)
AWAY: Answer = (503, b"")


def masked(body: dict[str, Any]) -> Answer:
    return completion(PROBE_WORD if is_probe(body) else WIRE)


def unmasked(body: dict[str, Any]) -> Answer:
    return completion("hello")


@pytest.fixture
def two() -> Iterator[tuple[StagedServer, StagedServer]]:
    with ExitStack() as stack:
        yield stack.enter_context(staged_server(masked)), stack.enter_context(staged_server(masked))


def behind_one_name(*servers: StagedServer, patience_s: float = 5.0) -> Servers:
    return Servers([server.decoder(timeout_s=5.0) for server in servers], patience_s=patience_s)


def orders(server: StagedServer) -> int:
    return sum(not is_probe(body) for body in server.bodies)


def probes(server: StagedServer) -> int:
    return sum(map(is_probe, server.bodies))


def test_the_less_busy_is_asked(two: tuple[StagedServer, StagedServer]) -> None:
    held, go_on = threading.Event(), threading.Event()

    def slow(body: dict[str, Any]) -> Answer:
        if not is_probe(body):
            held.set()
            go_on.wait(10)
        return masked(body)

    two[0].answer = slow
    servers = behind_one_name(*two)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(servers.decode, ORDER)
        assert held.wait(10)
        for _ in range(3):
            servers.decode(ORDER)
        go_on.set()
        assert first.result(10).text == WIRE
    assert [orders(server) for server in two] == [1, 3]


def test_another_server_does_what_one_that_is_away_can_not(two: tuple[StagedServer, StagedServer]) -> None:
    two[0].answer = lambda body: AWAY
    servers = behind_one_name(*two)
    assert [servers.decode(ORDER).text for _ in range(4)] == [WIRE] * 4
    assert orders(two[1]) == 4
    assert len(two[0].bodies) == 1, "a server that failed is asked last for a while"


def test_an_order_in_hand_waits_for_a_server_that_was_killed(two: tuple[StagedServer, StagedServer]) -> None:
    for server in two:
        server.answer, server.health = (lambda body: AWAY), 503
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(behind_one_name(*two).decode, ORDER)
        assert two[1].looked_at.wait(10)
        two[1].answer, two[1].health = masked, 200
        assert work.result(30).text == WIRE


@pytest.mark.parametrize("called_off", [False, True])
def test_it_waits_for_a_while_and_not_for_an_order_that_was_taken_away(
    two: tuple[StagedServer, StagedServer], called_off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(several, "AWAY_S", 3600.0 if called_off else 0.6)
    server, gone = two[0], threading.Event()
    server.answer, server.health = (lambda body: AWAY), 503
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(behind_one_name(server).decode, ORDER, gone)
        assert server.looked_at.wait(10)
        if called_off:
            gone.set()
        with pytest.raises(EngineUnavailable):
            work.result(30)


def test_no_second_server_is_tried_when_the_first_took_its_time(
    two: tuple[StagedServer, StagedServer],
) -> None:
    two[0].answer = lambda body: AWAY
    with pytest.raises(EngineUnavailable):
        behind_one_name(*two, patience_s=0.0).decode(ORDER)
    assert not two[1].bodies


def test_no_order_goes_to_a_server_that_did_not_pass_the_probe(
    two: tuple[StagedServer, StagedServer],
) -> None:
    two[0].answer = unmasked
    servers = behind_one_name(*two)
    assert [servers.decode(ORDER).text for _ in range(3)] == [WIRE] * 3
    assert (orders(two[0]), orders(two[1])) == (0, 3)
    two[1].answer = unmasked
    with pytest.raises(DecodeInvalid):
        servers.decode(ORDER)
    with pytest.raises(EngineMisconfigured):
        servers.decode(ORDER)


@pytest.mark.parametrize("trouble", [AWAY, completion("hello")], ids=["an outage", "an answer off the mask"])
def test_one_probe_is_enough_until_there_is(two: tuple[StagedServer, StagedServer], trouble: Answer) -> None:
    server = two[0]
    servers = behind_one_name(server)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(servers.decode, [ORDER] * 8))
    assert (probes(server), orders(server)) == (1, 8)
    server.answer = lambda body: trouble
    with pytest.raises((EngineUnavailable, DecodeInvalid)):
        servers.decode(ORDER)
    server.answer = masked
    servers.decode(ORDER)
    assert probes(server) == 2


def test_an_order_that_the_server_refuses_is_no_fault_of_the_server(
    two: tuple[StagedServer, StagedServer],
) -> None:
    for server in two:
        server.answer = lambda body: masked(body) if is_probe(body) else (400, b"prompt too long")
    servers = behind_one_name(*two)
    with pytest.raises(EngineMisconfigured) as refused:
        servers.decode(ORDER)
    assert "too long" in refused.value.whole
    assert "too long" not in refused.value.detail, (
        "what a server says of an order is for reviewers, not for logs"
    )
    assert orders(two[0]) + orders(two[1]) == 1


def test_every_server_is_warmed_and_one_that_is_away_passed_over(
    two: tuple[StagedServer, StagedServer],
) -> None:
    servers = behind_one_name(*two)
    servers.warm(CAFE)
    two[0].answer = lambda body: AWAY
    servers.warm(CAFE)
    assert [orders(server) for server in two] == [2, 2]
    two[1].answer = lambda body: AWAY
    with pytest.raises(EngineUnavailable):
        servers.warm(CAFE)


PROOFS: dict[str, tuple[tuple[Callable[[dict[str, Any]], Answer], ...], type[Exception] | None]] = {
    "both mask": ((masked, masked), None),
    "one masks": ((unmasked, masked), None),
    "one masks, one is away": ((lambda body: AWAY, masked), None),
    "neither masks": ((unmasked, unmasked), EngineMisconfigured),
    "one may yet come": ((unmasked, lambda body: AWAY), EngineUnavailable),
}


@pytest.mark.parametrize("case", PROOFS)
def test_proof_at_the_start(two: tuple[StagedServer, StagedServer], case: str) -> None:
    answers, error = PROOFS[case]
    for server, answer in zip(two, answers, strict=True):
        server.answer = answer
    if error is None:
        behind_one_name(*two).prove()
    else:
        with pytest.raises(error):
            behind_one_name(*two).prove()


def test_a_call_with_a_time_of_its_own_has_the_probe_within_it(
    two: tuple[StagedServer, StagedServer],
) -> None:
    go_on = threading.Event()

    def busy(body: dict[str, Any]) -> Answer:
        if is_probe(body):
            go_on.wait(20)
        return masked(body)

    two[0].answer = busy
    chat, mask = [{"role": "user", "content": "hello"}], wire_mask(Names(CAFE), SAID)
    servers, began = Servers([two[0].decoder(timeout_s=30.0)], patience_s=0.0), time.monotonic()
    with pytest.raises(EngineUnavailable, match="did not answer within"):
        servers.complete(chat, mask, timeout_s=0.3)
    assert time.monotonic() - began < 10, "it waited for the probe as long as an order would"
    go_on.set()
    assert servers.complete(chat, mask, timeout_s=20).text == WIRE


def test_what_readyz_says_of_them(two: tuple[StagedServer, StagedServer]) -> None:
    server, other = two
    servers = behind_one_name(server)
    assert servers.state(5) == "ok"
    assert servers.state(5) == "ok"
    assert probes(server) == 1, "asked at each scrape"
    server.health = 503
    assert servers.state(5) == "answers 503"
    server.health, server.answer = 200, unmasked  # started anew, without guided decoding
    assert servers.state(5).startswith("refused")
    assert behind_one_name(server, other).state(5) == "ok"
    absent = OpenAIDecoder(f"http://127.0.0.1:{any_free()}", dialect="vllm", model="m")
    assert Servers([absent], patience_s=1).state(5) == "no answer"


def test_one_setting_names_them_all(two: tuple[StagedServer, StagedServer], tmp_path: Path) -> None:
    urls = f"{two[0].url}, {two[1].url}"
    parts = bootstrap(Settings(home=tmp_path, llm_url=urls, llm_model="qwen"))
    parts.prove_decoder()
    assert [parts.decoder.decode(ORDER).text for _ in range(2)] == [WIRE] * 2
    assert [orders(server) for server in two] == [1, 1]
    until(lambda: parts.ready()["decoder"] == "ok")
    for server in two:
        server.health = 503
    until(lambda: parts.ready()["decoder"] == "answers 503")
    parts.close()
