"""The decoder's client against a real HTTP server: what it sends, and what it makes of each answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from llguidance import LLMatcher

from infra.processes.ports import any_free
from schemas.cart import CartDraft
from schemas.errors import (
    DecodeCancelled,
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
)
from services.engines.decoding.decoder import PROBE_WORD, OpenAIDecoder
from services.engines.decoding.prompt import messages
from services.engines.masks.grammar import build_mask, mask_version
from services.engines.masks.labels import Labels
from services.reading.order import read_order
from tests.servers.staged_server import Answer, StagedServer, completion, model, staged_server
from tests.stand_ins import CAFE, RIGHT, SAID

EVIDENCE = read_order(SAID, CAFE, 1)
LABELS = Labels(CAFE)
WIRE = LABELS.to_wire(RIGHT)
MAYBE = EVIDENCE.model_copy(
    update={"lines": tuple(line.model_copy(update={"required": False}) for line in EVIDENCE.lines)}
)


@pytest.fixture
def server() -> Iterator[StagedServer]:
    with staged_server(model(WIRE)) as staged:
        yield staged


def test_a_cart_comes_back_as_a_draft(server: StagedServer) -> None:
    decoded = server.decoder().decode(EVIDENCE)
    assert decoded.draft == RIGHT
    assert (decoded.prompt_tokens, decoded.completion_tokens) == (11, 22)
    assert decoded.engine == "llama.cpp:qwen"
    assert decoded.grammar == mask_version(CAFE, 1, "qwen")
    assert decoded.seconds > 0
    assert server.paths == ["/v1/chat/completions"]


def test_a_server_that_does_not_say_whether_it_has_the_reader_is_asked_again_and_not_done_without(
    server: StagedServer,
) -> None:
    server.adapters = (503, b"")  # it loads its model, or is too busy to answer in time
    decoder = server.decoder(adapter="orders", api_key="secret")
    for _ in range(2):
        with pytest.raises(EngineUnavailable, match="reader"):
            decoder.read(EVIDENCE)
    server.adapters = (200, b"[]")
    assert decoder.read(EVIDENCE) is None  # now it did say, and has none
    assert set(server.authorizations) == {"Bearer secret"}
    assert server.decoder().read(EVIDENCE) is None  # nobody asks for one


def test_an_empty_cart_is_a_cart(server: StagedServer) -> None:
    server.answer = model('{"lines":[]}')
    nothing_ordered = read_order("hello, how are you", CAFE, 1)
    assert server.decoder().decode(nothing_ordered).draft == CartDraft(lines=())


@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
def test_the_request_carries_the_mask_in_the_servers_own_way(server: StagedServer, dialect: str) -> None:
    server.decoder(dialect).decode(EVIDENCE)
    (body,) = server.bodies
    mask = build_mask(EVIDENCE, LABELS, "v")
    if dialect == "vllm":
        assert body["structured_outputs"] == {"grammar": mask.lark}
        assert not {"grammar", "cache_prompt"} & set(body)
    else:
        assert body["grammar"] == mask.lark
        assert body["cache_prompt"] is True
        assert "structured_outputs" not in body
    # vLLM dropped the guided_* fields and ignores them in silence; streaming would show half a cart.
    assert not [name for name in body if name.startswith("guided") or name == "stream"]
    assert body["grammar" if dialect != "vllm" else "structured_outputs"]
    assert body["model"] == "qwen"
    assert body["temperature"] == 0
    assert body["messages"] == messages(EVIDENCE, LABELS)
    assert not LLMatcher.validate_grammar(mask.lark)


def test_any_allowed_cart_fits_into_max_tokens(server: StagedServer) -> None:
    server.decoder().decode(EVIDENCE)
    assert server.bodies[0]["max_tokens"] > build_mask(EVIDENCE, LABELS, "v").longest


def test_what_is_fixed_comes_first_and_the_orders_own_words_last(server: StagedServer) -> None:
    decoder = server.decoder()
    decoder.decode(EVIDENCE)
    server.answer = model('{"lines":[]}')
    decoder.decode(read_order("hello", CAFE, 1))
    first, second = (body["messages"] for body in server.bodies)
    assert first[:-1] == second[:-1]
    assert first[-1] == {"role": "user", "content": f"Customer: {SAID}"}


def test_the_prompt_shows_no_price(server: StagedServer) -> None:
    server.decoder().decode(EVIDENCE)
    shown = json.dumps(server.bodies[0]["messages"])
    for price in ("450", "500", "350", "480", "0.60", "USD"):
        assert price not in shown


def test_the_key_is_sent_where_there_is_one(server: StagedServer) -> None:
    server.decoder(api_key="s3cret").decode(EVIDENCE)
    server.decoder().decode(EVIDENCE)
    assert server.authorizations == ["Bearer s3cret", None]


ANSWERS: dict[str, tuple[Answer, type[EngineError]]] = {
    "cut off at the token limit": (completion(WIRE[:60], "length"), DecodeTruncated),
    "cut off though it looks whole": (completion(WIRE, "length"), DecodeTruncated),
    "stopped for another reason": (completion(WIRE, "content_filter"), DecodeTruncated),
    "free text": (completion("Sure! Here is your cart: a latte."), DecodeInvalid),
    "a cart in a fence": (completion(f"```json\n{WIRE}\n```"), DecodeInvalid),
    "a cart with a price": (completion(WIRE.replace('"kind"', '"price":0,"kind"', 1)), DecodeInvalid),
    "a cart of things nobody said": (completion(WIRE.replace("latte", "mocha")), DecodeInvalid),
    "half a cart that says it is whole": (completion(WIRE[:60]), DecodeInvalid),
    "nothing": (completion(""), DecodeInvalid),
    "null": (completion(None), DecodeInvalid),
    "half a surrogate pair": (completion("\ud800"), DecodeInvalid),
    "a fault": ((500, b"boom"), EngineUnavailable),
    "away": ((503, b"loading model"), EngineUnavailable),
    "busy": ((429, b"slow down"), EngineUnavailable),
    "bad request": ((400, b'{"error": "grammar"}'), EngineMisconfigured),
    "no key": ((401, b"who are you"), EngineMisconfigured),
    "no such model": ((404, b"no model qwen"), EngineMisconfigured),
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
        server.decoder(dialect).decode(EVIDENCE)
    assert type(caught.value) is error
    assert caught.value.retryable == (error is EngineUnavailable)
    assert caught.value.hint
    assert len(server.bodies) == 1, "retries are the runner's business"


def test_a_server_that_is_not_there_is_an_outage() -> None:
    decoder = OpenAIDecoder(f"http://127.0.0.1:{any_free()}", dialect="llama.cpp", model="qwen")
    with pytest.raises(EngineUnavailable, match="did not answer"):
        decoder.decode(MAYBE)
    with pytest.raises(EngineUnavailable):
        decoder.warm(EVIDENCE)
    with pytest.raises(EngineUnavailable):
        decoder.probe()


def test_an_unknown_dialect_is_refused_at_once() -> None:
    with pytest.raises(EngineMisconfigured, match="guidance"):
        OpenAIDecoder("http://127.0.0.1:1", dialect="guidance", model="qwen")


def test_a_server_that_honours_the_mask_passes_the_probe(server: StagedServer) -> None:
    server.answer = lambda body: completion(PROBE_WORD)
    for dialect in ("llama.cpp", "vllm"):
        server.decoder(dialect).probe()
    for body in server.bodies:
        mask = body.get("grammar") or body["structured_outputs"]["grammar"]
        assert PROBE_WORD in mask
        assert PROBE_WORD not in json.dumps(body["messages"]), "the prompt gives the word away"


def test_a_server_with_the_reader_is_probed_with_its_adapter(server: StagedServer) -> None:
    server.answer = lambda body: completion(PROBE_WORD)
    server.adapters = (200, b'[{"id": 0}]')
    server.decoder(adapter="orders").probe()
    server.decoder().probe()
    assert [body.get("lora") for body in server.bodies] == [[{"id": 0, "scale": 1.0}], None]


@pytest.mark.parametrize(
    "answer",
    [
        completion("hello"),
        completion("hello", "length"),
        completion(""),
        completion(f"{PROBE_WORD} "),
        (400, b""),
    ],
)
def test_a_server_that_ignores_the_mask_fails_the_probe(server: StagedServer, answer: Answer) -> None:
    server.answer = lambda body: answer
    with pytest.raises(EngineMisconfigured):
        server.decoder().probe()


def test_warming_asks_for_the_fixed_part_and_one_token(server: StagedServer) -> None:
    server.answer = lambda body: completion("x", "length")
    decoder = server.decoder()
    decoder.warm(EVIDENCE)
    (warmed,) = server.bodies
    assert warmed["max_tokens"] == 1
    assert warmed["messages"] == messages(EVIDENCE, LABELS)
    assert not {"grammar", "structured_outputs"} & set(warmed)


def test_two_versions_of_a_menu_are_not_mixed_up(server: StagedServer) -> None:
    decoder = server.decoder()
    first = decoder.decode(EVIDENCE)
    renamed = CAFE.items[0].model_copy(update={"name": "caffe latte", "aliases": ("latte",)})
    second_menu = CAFE.model_copy(update={"items": (renamed, *CAFE.items[1:])})
    evidence = read_order(SAID, second_menu, 1)
    server.answer = model(Labels(second_menu).to_wire(RIGHT))
    second = decoder.decode(evidence)
    assert first.grammar != second.grammar
    assert second.draft == RIGHT


def test_a_call_that_is_called_off_closes_its_connection(server: StagedServer) -> None:
    called_off, begun = threading.Event(), threading.Event()

    def slow(body: dict[str, Any]) -> Answer:
        begun.set()
        server.gone.wait(10)
        return completion(WIRE)

    server.answer = slow
    threading.Thread(target=lambda: begun.wait(10) and called_off.set()).start()
    with pytest.raises(DecodeCancelled):
        server.decoder().decode(EVIDENCE, called_off)
    assert server.gone.wait(5), "the server was left to decode for nobody"


def test_an_answer_before_the_call_is_called_off_counts(server: StagedServer) -> None:
    assert server.decoder().decode(EVIDENCE, threading.Event()).draft == RIGHT


def test_tokens_from_the_prefix_cache_are_counted(server: StagedServer) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 7}}
    server.answer = lambda body: completion(WIRE, usage=usage)
    assert server.decoder("vllm").decode(EVIDENCE).cached_tokens == 7
    server.answer = lambda body: completion(WIRE, usage={"prompt_tokens_details": None})
    assert server.decoder("vllm").decode(EVIDENCE).cached_tokens == 0


SCORES = {"choices": [{"prompt_logprobs": [None, {"5": {"logprob": 0.0, "rank": 2, "decoded_token": "{"}}]}]}


def scoring(body: dict[str, Any]) -> Answer:
    """As vLLM: token ids with the cart where they are asked for, scores of a prompt of token ids."""
    if "prompt" in body:
        return 200, json.dumps(SCORES).encode()
    status, content = completion(WIRE, prompt_token_ids=[4])
    document = json.loads(content)
    document["choices"][0]["token_ids"] = [5]
    return status, json.dumps(document).encode()


def test_a_cart_is_scored_by_the_very_tokens_that_made_it(server: StagedServer) -> None:
    server.answer = scoring
    decoded = server.decoder("vllm", score=True).decode(EVIDENCE)
    assert server.paths == ["/v1/chat/completions", "/v1/completions"]
    assert server.bodies[0]["return_token_ids"] is True
    assert server.bodies[1]["prompt"] == [4, 5]
    assert decoded.scored is not None
    assert decoded.scored.overruled == {"": 1}


def test_llama_cpp_tells_the_scores_with_the_cart(server: StagedServer) -> None:
    token = {"id": 5, "token": WIRE, "logprob": -0.5, "top_logprobs": [{"id": 7}]}
    document = json.loads(completion(WIRE)[1])
    document["choices"][0]["logprobs"] = {"content": [token]}
    server.answer = lambda body: (200, json.dumps(document).encode())
    decoded = server.decoder("llama.cpp", score=True).decode(EVIDENCE)
    assert (server.bodies[0]["logprobs"], server.bodies[0]["top_logprobs"]) == (True, 1)
    assert server.paths == ["/v1/chat/completions"]
    assert decoded.scored is not None
    assert decoded.scored.overruled == {"": 1}


@pytest.mark.parametrize("dialect", ["vllm", "llama.cpp"])
def test_nothing_is_scored_unasked(server: StagedServer, dialect: str) -> None:
    assert server.decoder(dialect).decode(EVIDENCE).scored is None
    assert set(server.paths) == {"/v1/chat/completions"}
    assert not {"logprobs", "return_token_ids"} & set(server.bodies[0])


@pytest.mark.parametrize("trouble", [(500, b""), (200, b"{}"), (200, b'{"choices": [{}]}')])
def test_a_cart_without_scores_is_still_a_cart(server: StagedServer, trouble: Answer) -> None:
    server.answer = lambda body: trouble if "prompt" in body else scoring(body)
    decoded = server.decoder("vllm", score=True).decode(EVIDENCE)
    assert decoded.draft == RIGHT
    assert decoded.scored is None
