"""The decoder against an HTTP server: its requests, and how it handles each response."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from infra.processes.ports import any_free
from schemas.errors import (
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
)
from services.decoding.decoder import OpenAIDecoder
from services.decoding.menu_names import Names
from services.decoding.ports import CartRequest
from services.decoding.prompt import MenuContext
from services.decoding.wire_mask import PROBE_ANSWER, PROBE_WORD, wire_mask
from tests.servers.staged_server import (
    Answer,
    StagedServer,
    completion,
    model,
    spelled,
    staged_server,
)
from tests.stand_ins import CAFE, RIGHT, SAID

ORDER = CartRequest(SAID, CAFE)
CONTEXT = MenuContext(CAFE)
MASK = wire_mask(Names(CAFE), SAID)
WIRE = spelled(RIGHT, CAFE)


@pytest.fixture
def server() -> Iterator[StagedServer]:
    with staged_server(model(WIRE)) as staged:
        yield staged


def test_a_cart_comes_back_as_lines(server: StagedServer) -> None:
    decoded = server.decoder().decode(ORDER)
    assert decoded.text == WIRE
    assert [line["sku"] for line in decoded.lines] == ["latte", "muffin"]
    assert (decoded.by.prompt_tokens, decoded.by.completion_tokens) == (11, 22)
    assert (decoded.by.decoder, decoded.trained) == ("llama.cpp:qwen", False)
    assert decoded.by.grammar == MASK.version
    assert server.paths == ["/v1/chat/completions"]


def test_the_adapter_is_looked_up_again_until_the_server_answers(
    server: StagedServer,
) -> None:
    server.adapters = (503, b"")  # loading its model, or too busy
    decoder = server.decoder(adapter="orders", api_key="secret")
    for _ in range(2):
        with pytest.raises(EngineUnavailable, match="adapter"):
            decoder.decode(ORDER)
    server.adapters = (200, b"[]")
    assert not decoder.decode(ORDER).trained  # it has none
    assert set(server.authorizations) == {"Bearer secret"}
    server.adapters = (200, b'[{"id": 0}]')
    assert server.decoder(adapter="orders").decode(ORDER).trained


def test_the_request_has_the_mask_and_no_prices(server: StagedServer) -> None:
    server.decoder().decode(ORDER)
    (body,) = server.bodies
    assert body["messages"] == CONTEXT.messages(ORDER, trained=False)
    assert (body["grammar"], body["temperature"]) == (MASK.lark, 0)
    shown = json.dumps(body["messages"])
    for price in ("450", "500", "350", "480", "0.60", "USD"):
        assert price not in shown


ANSWERS: dict[str, tuple[Answer, type[EngineError]]] = {
    "cut off at the token limit": (completion(WIRE[:60], "length"), DecodeTruncated),
    "cut off though it looks complete": (completion(WIRE, "length"), DecodeTruncated),
    "stopped for another reason": (completion(WIRE, "content_filter"), DecodeTruncated),
    "free text": (completion("Sure! Here is your cart: a latte."), DecodeInvalid),
    "a cart in a code fence": (completion(f"```json\n{WIRE}\n```"), DecodeInvalid),
    "a cart with a price": (completion(WIRE.replace('"item"', '"price":0,"item"', 1)), DecodeInvalid),
    "a cart of another menu": (completion(WIRE.replace("latte", "bicycle")), DecodeInvalid),
    "half a cart that claims to be complete": (completion(WIRE[:60]), DecodeInvalid),
    "nothing": (completion(""), DecodeInvalid),
    "null": (completion(None), DecodeInvalid),
    "half a surrogate pair": (completion("\ud800"), DecodeInvalid),
    "a fault": ((500, b"boom"), EngineUnavailable),
    "busy": ((429, b"slow down"), EngineUnavailable),
    "bad request": ((400, b'{"error": "grammar"}'), EngineMisconfigured),
    "no key": ((401, b"who are you"), EngineMisconfigured),
    "no choices": ((200, b'{"choices": []}'), EngineUnavailable),
    "not an object": ((200, b"[]"), EngineUnavailable),
    "a page of a proxy": ((200, b"<html>gateway</html>"), EngineUnavailable),
    "an error in a good answer": ((200, b'{"error": {"message": "x"}}'), EngineUnavailable),
}


@pytest.mark.parametrize("what", ANSWERS)
@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
def test_any_other_answer_raises_a_specific_error(server: StagedServer, what: str, dialect: str) -> None:
    answer, error = ANSWERS[what]
    server.answer = lambda body: answer
    with pytest.raises(EngineError) as caught:
        server.decoder(dialect).decode(ORDER)
    assert type(caught.value) is error
    assert caught.value.retryable == (error is EngineUnavailable)
    assert caught.value.hint
    assert len(server.bodies) == 1, "retries are up to the runner"


def test_an_unreachable_server_is_an_outage() -> None:
    decoder = OpenAIDecoder(f"http://127.0.0.1:{any_free()}", dialect="llama.cpp", model="qwen")
    with pytest.raises(EngineUnavailable, match="did not answer"):
        decoder.decode(ORDER)
    with pytest.raises(EngineUnavailable):
        decoder.warm(CAFE)
    with pytest.raises(EngineUnavailable):
        decoder.probe()


@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
def test_only_a_server_that_applies_the_mask_passes_the_probe(server: StagedServer, dialect: str) -> None:
    server.answer = lambda body: completion(PROBE_ANSWER)
    server.decoder(dialect).probe()
    (body,) = server.bodies
    assert PROBE_WORD in (body.get("grammar") or body["structured_outputs"]["grammar"])
    assert PROBE_WORD not in json.dumps(body["messages"]), "the prompt reveals the word"
    for text in ("hello", "", f"{PROBE_ANSWER} ", PROBE_WORD):
        server.answer = lambda body, text=text: completion(text)  # type: ignore[misc]
        with pytest.raises(EngineMisconfigured):
            server.decoder(dialect).probe()


def test_two_versions_of_a_menu_are_kept_apart(server: StagedServer) -> None:
    decoder = server.decoder()
    decoder.decode(ORDER)
    renamed = CAFE.items[0].model_copy(update={"name": "caffe latte", "aliases": ("latte",)})
    second_menu = CAFE.model_copy(update={"items": (renamed, *CAFE.items[1:])})
    wish = spelled(RIGHT, second_menu)
    server.answer = model(wish)
    assert decoder.decode(CartRequest(SAID, second_menu)).text == wish


def test_a_second_transcript_is_in_the_prompt_but_not_in_the_mask(server: StagedServer) -> None:
    """In the training data, quotes are always from the first transcript."""
    server.decoder(adapter="").decode(CartRequest("a small latte", CAFE, "a small oat latte"))
    (body,) = server.bodies
    named = "Named: small; latte. Perhaps: oat milk"
    assert body["messages"][-1]["content"] == f"a small latte\nOr: a small oat latte\n{named}"
    assert body["grammar"] == wire_mask(Names(CAFE), "a small latte").lark


def test_each_number_and_name_has_its_own_probability(server: StagedServer) -> None:
    before, name, behind = WIRE.partition("latte")
    content = [
        {"id": n, "token": piece, "logprob": score, "top_logprobs": [{"id": n}]}
        for n, (piece, score) in enumerate(((before, 0.0), (name, math.log(0.5)), (behind, 0.0)))
    ]
    document = json.loads(completion(WIRE)[1])
    document["choices"][0]["logprobs"] = {"content": content}
    server.answer = lambda body: (200, json.dumps(document).encode())
    pieces = server.decoder().decode(ORDER).pieces
    assert {piece.text: piece.probability for piece in pieces if piece.probability < 1} == {
        "latte": pytest.approx(0.5)
    }
    assert [piece.text for piece in pieces[:2]] == ["latte", "large"]


def test_only_a_trained_model_gets_a_prediction_and_its_adapter(server: StagedServer) -> None:
    server.adapters = (200, b'[{"id": 0}]')
    for decoder in (server.decoder(adapter="orders"), server.decoder()):
        decoder.decode(replace(ORDER, chunked_prefill=True))
    trained, base = server.bodies
    assert MASK.accepts(trained["prediction"]["content"])
    assert (trained["menu_s"] > 0, trained["lora"]) == (True, [{"id": 0, "scale": 1.0}])
    assert not {"prediction", "menu_s", "lora"} & set(base)
    assert len(base["messages"][0]["content"]) > len(trained["messages"][0]["content"]), "the format is shown"
