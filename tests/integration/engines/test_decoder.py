"""The decoder's client against a real HTTP server: what it sends, and what it makes of each answer."""

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
    assert (decoded.prompt_tokens, decoded.completion_tokens) == (11, 22)
    assert (decoded.engine, decoded.trained) == ("llama.cpp:qwen", False)
    assert decoded.grammar == MASK.version
    assert decoded.seconds > 0
    assert server.paths == ["/v1/chat/completions"]


def test_a_server_that_does_not_say_whether_it_has_the_reader_is_asked_again_and_not_done_without(
    server: StagedServer,
) -> None:
    server.adapters = (503, b"")  # it loads its model, or is too busy to answer in time
    decoder = server.decoder(adapter="orders", api_key="secret")
    for _ in range(2):
        with pytest.raises(EngineUnavailable, match="adapter"):
            decoder.decode(ORDER)
    server.adapters = (200, b"[]")
    assert not decoder.decode(ORDER).trained  # now it did say, and has none
    assert set(server.authorizations) == {"Bearer secret"}
    server.adapters = (200, b'[{"id": 0}]')
    assert server.decoder(adapter="orders").decode(ORDER).trained


def test_the_order_is_asked_under_its_mask_and_the_prompt_shows_no_price(server: StagedServer) -> None:
    server.decoder().decode(ORDER)
    (body,) = server.bodies
    assert body["messages"] == CONTEXT.messages(ORDER, trained=False)
    assert (body["grammar"], body["temperature"]) == (MASK.lark, 0)
    shown = json.dumps(body["messages"])
    for price in ("450", "500", "350", "480", "0.60", "USD"):
        assert price not in shown


ANSWERS: dict[str, tuple[Answer, type[EngineError]]] = {
    "cut off at the token limit": (completion(WIRE[:60], "length"), DecodeTruncated),
    "cut off though it looks whole": (completion(WIRE, "length"), DecodeTruncated),
    "stopped for another reason": (completion(WIRE, "content_filter"), DecodeTruncated),
    "free text": (completion("Sure! Here is your cart: a latte."), DecodeInvalid),
    "a cart in a fence": (completion(f"```json\n{WIRE}\n```"), DecodeInvalid),
    "a cart with a price": (completion(WIRE.replace('"item"', '"price":0,"item"', 1)), DecodeInvalid),
    "a cart of another menu": (completion(WIRE.replace("latte", "bicycle")), DecodeInvalid),
    "half a cart that says it is whole": (completion(WIRE[:60]), DecodeInvalid),
    "nothing": (completion(""), DecodeInvalid),
    "null": (completion(None), DecodeInvalid),
    "half a surrogate pair": (completion("\ud800"), DecodeInvalid),
    "a fault": ((500, b"boom"), EngineUnavailable),
    "busy": ((429, b"slow down"), EngineUnavailable),
    "bad request": ((400, b'{"error": "grammar"}'), EngineMisconfigured),
    "no key": ((401, b"who are you"), EngineMisconfigured),
    "no choices": ((200, b'{"choices": []}'), EngineUnavailable),
    "another document": ((200, b"[]"), EngineUnavailable),
    "a page of a proxy": ((200, b"<html>gateway</html>"), EngineUnavailable),
    "an error in a good answer": ((200, b'{"error": {"message": "x"}}'), EngineUnavailable),
}


@pytest.mark.parametrize("what", ANSWERS)
@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
def test_any_other_answer_is_an_error_that_says_what_it_means(
    server: StagedServer, what: str, dialect: str
) -> None:
    answer, error = ANSWERS[what]
    server.answer = lambda body: answer
    with pytest.raises(EngineError) as caught:
        server.decoder(dialect).decode(ORDER)
    assert type(caught.value) is error
    assert caught.value.retryable == (error is EngineUnavailable)
    assert caught.value.hint
    assert len(server.bodies) == 1, "retries are the runner's business"


def test_a_server_that_is_not_there_is_an_outage() -> None:
    decoder = OpenAIDecoder(f"http://127.0.0.1:{any_free()}", dialect="llama.cpp", model="qwen")
    with pytest.raises(EngineUnavailable, match="did not answer"):
        decoder.decode(ORDER)
    with pytest.raises(EngineUnavailable):
        decoder.warm(CAFE)
    with pytest.raises(EngineUnavailable):
        decoder.probe()


@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
def test_only_a_server_that_honours_the_mask_passes_the_probe(server: StagedServer, dialect: str) -> None:
    server.answer = lambda body: completion(PROBE_ANSWER)
    server.decoder(dialect).probe()
    (body,) = server.bodies
    assert PROBE_WORD in (body.get("grammar") or body["structured_outputs"]["grammar"])
    assert PROBE_WORD not in json.dumps(body["messages"]), "the prompt gives the word away"
    for text in ("hello", "", f"{PROBE_ANSWER} ", PROBE_WORD):
        server.answer = lambda body, text=text: completion(text)  # type: ignore[misc]
        with pytest.raises(EngineMisconfigured):
            server.decoder(dialect).probe()


def test_two_versions_of_a_menu_are_not_mixed_up(server: StagedServer) -> None:
    decoder = server.decoder()
    decoder.decode(ORDER)
    renamed = CAFE.items[0].model_copy(update={"name": "caffe latte", "aliases": ("latte",)})
    second_menu = CAFE.model_copy(update={"items": (renamed, *CAFE.items[1:])})
    wish = spelled(RIGHT, second_menu)
    server.answer = model(wish)
    assert decoder.decode(CartRequest(SAID, second_menu)).text == wish


def test_a_second_transcript_is_shown_and_no_words_are_taken_from_it(server: StagedServer) -> None:
    """In training a wish or a note was always in the first recognizer's words."""
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


def test_only_a_trained_model_gets_a_guess_and_answers_by_its_adapter(server: StagedServer) -> None:
    server.adapters = (200, b'[{"id": 0}]')
    for decoder in (server.decoder(adapter="orders"), server.decoder()):
        decoder.decode(replace(ORDER, in_gaps=True))
    trained, base = server.bodies
    assert MASK.accepts(trained["prediction"]["content"])
    assert (trained["menu_s"] > 0, trained["lora"]) == (True, [{"id": 0, "scale": 1.0}])
    assert not {"prediction", "menu_s", "lora"} & set(base)
    assert len(base["messages"][0]["content"]) > len(trained["messages"][0]["content"]), "the format is shown"
