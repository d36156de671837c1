"""Masked calls against an HTTP server: the requests, and how responses are handled."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from services.clients.masked.saycart_masked import (
    AnswerRejected,
    AnswerTruncated,
    Engine,
    Mask,
    MaskedCallError,
    OutputType,
    OutsideMask,
    RequestRefused,
    ServerUnavailable,
    masked,
)
from services.clients.masked.saycart_masked.engine import IDLE_S, MOST_ASKED
from tests.masked_tasks import TICKET, Ticket
from tests.servers.loopback import Handler, serving
from tests.servers.staged_server import Answer, StagedServer, completion, staged_server

GOOD = '{"priority":"high","needs_human":true,"note":"call Mrs. Abernathy"}'
REFUSED = '{"priority":"high","needs_human":false,"note":"call Mrs. Abernathy"}'
CHAT = TICKET.messages("Nobody can pay!")
DIALECTS = ["llama.cpp", "vllm"]


class Book(BaseModel):
    """Its longest answer is longer than a context."""

    text: Annotated[str, Field(max_length=9_000)]


@pytest.fixture
def server() -> Iterator[StagedServer]:
    with staged_server(lambda body: completion(GOOD)) as staged:
        yield staged


def engine(server: StagedServer, dialect: str = "llama.cpp", **more: Any) -> Engine:
    return Engine(server.url, model="qwen", dialect=dialect, **more)


def test_an_answer_is_a_model(server: StagedServer) -> None:
    found = masked(Ticket, "Nobody can pay!", engine=engine(server))
    assert found.value == Ticket(priority="high", needs_human=True, note="call Mrs. Abernathy")
    assert found.completed.text == GOOD
    assert (found.completed.prompt_tokens, found.completed.completion_tokens) == (11, 22)
    assert found.completed.grammar == TICKET.output.mask.version
    assert found.probability is None, "not requested"
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "Nobody can pay!"}]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_request_has_chat_mask_and_token_limit(server: StagedServer, dialect: str) -> None:
    masked(TICKET.output, CHAT, engine=engine(server, dialect), temperature=0.7, seed=42)
    (body,) = server.bodies
    mask = TICKET.output.mask
    assert body["messages"] == CHAT
    assert body["max_tokens"] > mask.longest
    assert (body["model"], body["temperature"], body["seed"]) == ("qwen", 0.7, 42)
    assert body.get("grammar") == (mask.lark if dialect == "llama.cpp" else None)
    assert body.get("structured_outputs") == ({"grammar": mask.lark} if dialect == "vllm" else None)
    assert not {"stream", "logprobs", "return_token_ids"} & set(body)


def test_vllm_is_never_asked_for_more_tokens_than_its_context(server: StagedServer) -> None:
    """vLLM rejects such a request (400), however short the answer would be; llama.cpp does not."""
    server.answer = lambda body: completion('{"text":"short"}')
    assert OutputType.of(Book).mask.longest > MOST_ASKED
    for dialect in DIALECTS:
        masked(Book, CHAT, engine=engine(server, dialect))
    llama, vllm = server.bodies
    assert llama["max_tokens"] > OutputType.of(Book).mask.longest
    assert "max_tokens" not in vllm


ANSWERS: dict[str, tuple[Answer, type[MaskedCallError]]] = {
    "cut off": (completion(GOOD[:30], "length"), AnswerTruncated),
    "with spaces": (completion(json.dumps(json.loads(GOOD))), OutsideMask),
    "a word that is not open": (completion(GOOD.replace("high", "urgent")), OutsideMask),
    "refused by its own rule": (completion(REFUSED), AnswerRejected),
    "a fault": ((500, b"boom"), ServerUnavailable),
    "a bad request": ((400, b"boom"), RequestRefused),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_each_bad_answer_raises_its_own_error(server: StagedServer, what: str) -> None:
    """Bad form (cut off, outside the mask) is distinguished from bad content (the model's own rules). There
    is no retry, and the answer is not logged."""
    text, error = ANSWERS[what]
    server.answer = lambda body: text
    with pytest.raises(MaskedCallError) as caught:
        masked(Ticket, CHAT, engine=engine(server))
    assert type(caught.value) is error
    assert caught.value.retryable == (error is ServerUnavailable)
    assert len(server.bodies) == 1
    assert "Abernathy" not in str(caught.value)


def test_a_mask_that_does_not_compile_is_never_sent(server: StagedServer) -> None:
    """llama.cpp would answer 200, without a mask."""
    beyond = Mask('%llguidance {}\nstart: %json {"not": {"required": ["price"]}}\n', "beyond", 100)
    with pytest.raises(OutsideMask, match="does not compile"):
        engine(server).complete(CHAT, beyond)
    assert not server.bodies


def test_an_idle_connection_is_not_reused() -> None:
    """Otherwise the server may close it just as a request is sent, which is then lost."""
    ports: list[int] = []

    class Patient(Handler):
        protocol_version = "HTTP/1.1"  # which keeps connections

        def do_POST(self) -> None:
            self.body()
            ports.append(self.client_address[1])
            self.answer(200, b"{}")

    with serving(Patient) as url:
        client = Engine(url, model="m")
        for wait in (0.0, 0.0, IDLE_S + 0.5):
            time.sleep(wait)
            client.post("/", {})
    assert ports[0] == ports[1] != ports[2]


def llama_scores(body: dict[str, Any]) -> Answer:
    """llama.cpp's format: `"high"` has 0.5 and was not the model's choice; the rest is certain."""
    tokens = []
    for at, piece in enumerate(('{"priority":', '"high"', GOOD.removeprefix('{"priority":"high"'))):
        top = at if piece != '"high"' else 99
        one = {"id": at, "token": piece, "logprob": math.log(0.5) if top == 99 else 0.0}
        tokens.append(one | {"top_logprobs": [{"id": top}]})
    document = json.loads(completion(GOOD)[1])
    document["choices"][0]["logprobs"] = {"content": tokens}
    return 200, json.dumps(document).encode()


def vllm_scores(body: dict[str, Any]) -> Answer:
    """vLLM's format: a second request, for prompt and answer together."""
    pieces = ('{"priority":', '"high"', GOOD.removeprefix('{"priority":"high"'))
    if "prompt" in body:
        places = [
            {
                str(at): {
                    "logprob": math.log(0.5) if at == 1 else 0.0,
                    "rank": 1 + (at == 1),
                    "decoded_token": piece,
                }
            }
            for at, piece in enumerate(pieces)
        ]
        return 200, json.dumps({"choices": [{"prompt_logprobs": [None, *places]}]}).encode()
    document = json.loads(completion(GOOD, prompt_token_ids=[7])[1])
    document["choices"][0]["token_ids"] = [0, 1, 2]
    return 200, json.dumps(document).encode()


@pytest.mark.parametrize(("dialect", "scores"), [("llama.cpp", llama_scores), ("vllm", vllm_scores)])
def test_fields_are_scored_without_the_mask(server: StagedServer, dialect: str, scores: Any) -> None:
    server.answer = scores
    found = masked(TICKET.output, CHAT, engine=engine(server, dialect), score=True)
    assert found.probability is not None
    assert found.probability["/priority"] == pytest.approx(0.5)
    assert found.completed.overruled == 1
    assert ("logprobs" if dialect == "llama.cpp" else "return_token_ids") in server.bodies[0]


def test_scoring_shares_the_calls_timeout(server: StagedServer) -> None:
    """vLLM needs a second request for them, within the same timeout."""

    over = threading.Event()

    def slow_to_score(body: dict[str, Any]) -> Answer:
        if "prompt" in body:
            over.wait(20)
        return vllm_scores(body)

    server.answer = slow_to_score
    began = time.monotonic()
    patient = engine(server, "vllm", timeout_s=60)
    found = masked(TICKET.output, CHAT, engine=patient, score=True, timeout_s=1.0)
    over.set()
    assert (found.value.priority, found.probability) == ("high", None)
    assert time.monotonic() - began < 15


def test_an_answer_without_scores_is_still_returned(server: StagedServer) -> None:
    unscored = {"message": {"content": GOOD}, "finish_reason": "stop"}
    server.answer = lambda _: (200, json.dumps({"choices": [unscored]}).encode())
    found = masked(TICKET.output, CHAT, engine=engine(server), score=True)
    assert (found.value.priority, found.probability) == ("high", None)
