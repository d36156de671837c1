"""The decoder's client against a real HTTP server: what it sends, and what it makes of each answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from llguidance import LLMatcher

from infra.ports import any_free
from schemas.cart import CartDraft
from schemas.errors import (
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
)
from services.engines.decoder import PROBE_WORD, OpenAIDecoder
from services.engines.grammar import build_mask, mask_version
from services.engines.labels import Labels
from services.engines.prompt import messages
from services.pipeline.retrieve import retrieve
from tests.stand_ins import CAFE, RIGHT, SAID

EVIDENCE = retrieve(SAID, CAFE, 1)
LABELS = Labels(CAFE)
WIRE = LABELS.to_wire(RIGHT)
Answer = tuple[int, bytes]


def completion(text: str | None, reason: str = "stop", **more: Any) -> Answer:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 11, "completion_tokens": 22}
    document = {"choices": [{"message": message, "finish_reason": reason}], "usage": usage, **more}
    return 200, json.dumps(document).encode()


@dataclass
class Server:
    """Answers every request by `answer`; remembers path, headers and body of each."""

    answer: Callable[[dict[str, Any]], Answer] = lambda body: completion(WIRE)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    url: str = ""

    def decoder(self, dialect: str = "llama.cpp", **more: Any) -> OpenAIDecoder:
        return OpenAIDecoder(self.url, dialect=dialect, model="qwen", **more)


@pytest.fixture
def server() -> Iterator[Server]:
    staged = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            staged.bodies.append(body)
            staged.paths.append(self.path)
            staged.authorizations.append(self.headers.get("Authorization"))
            status, content = staged.answer(body)
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                pass  # the client gave up, as one test wants

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        staged.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield staged
        http.shutdown()
        thread.join(5)


def test_a_cart_comes_back_as_a_draft(server: Server) -> None:
    decoded = server.decoder().decode(EVIDENCE)
    assert decoded.draft == RIGHT
    assert (decoded.prompt_tokens, decoded.completion_tokens) == (11, 22)
    assert decoded.engine == "llama.cpp:qwen"
    assert decoded.grammar == mask_version(CAFE, 1, "qwen")
    assert decoded.seconds > 0
    assert server.paths == ["/v1/chat/completions"]


def test_an_empty_cart_is_a_cart(server: Server) -> None:
    server.answer = lambda body: completion('{"lines":[]}')
    nothing_ordered = retrieve("hello, how are you", CAFE, 1)
    assert server.decoder().decode(nothing_ordered).draft == CartDraft(lines=())


@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
def test_the_request_carries_the_mask_in_the_servers_own_way(server: Server, dialect: str) -> None:
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


def test_any_allowed_cart_fits_into_max_tokens(server: Server) -> None:
    server.decoder().decode(EVIDENCE)
    assert server.bodies[0]["max_tokens"] > build_mask(EVIDENCE, LABELS, "v").longest


def test_what_is_fixed_comes_first_and_the_orders_own_words_last(server: Server) -> None:
    decoder = server.decoder()
    decoder.decode(EVIDENCE)
    server.answer = lambda body: completion('{"lines":[]}')
    decoder.decode(retrieve("hello", CAFE, 1))
    first, second = (body["messages"] for body in server.bodies)
    assert first[:-1] == second[:-1]
    assert first[-1] == {"role": "user", "content": f"Customer: {SAID}"}


def test_the_prompt_shows_no_price(server: Server) -> None:
    server.decoder().decode(EVIDENCE)
    shown = json.dumps(server.bodies[0]["messages"])
    for price in ("450", "500", "350", "480", "0.60", "USD"):
        assert price not in shown


def test_the_key_is_sent_where_there_is_one(server: Server) -> None:
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
    "an error in a good answer": ((200, b'{"error": {"message": "x"}}'), EngineUnavailable),
}


@pytest.mark.parametrize("what", ANSWERS)
@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
def test_any_other_answer_is_an_error_that_says_what_it_means(
    server: Server, what: str, dialect: str
) -> None:
    answer, error = ANSWERS[what]
    server.answer = lambda body: answer
    with pytest.raises(EngineError) as caught:
        server.decoder(dialect).decode(EVIDENCE)
    assert type(caught.value) is error
    assert caught.value.retryable == (error is EngineUnavailable)
    assert caught.value.hint
    assert len(server.bodies) == 1, "retries are the runner's business"


def test_a_page_of_a_proxy_in_place_of_json_is_an_outage(server: Server) -> None:
    server.answer = lambda body: (200, b"<html>gateway</html>")
    with pytest.raises(EngineUnavailable):
        server.decoder().decode(EVIDENCE)


def test_a_server_that_takes_too_long_is_an_outage(server: Server) -> None:
    done = threading.Event()

    def slow(body: dict[str, Any]) -> Answer:
        done.wait(5)
        return completion(WIRE)

    server.answer = slow
    started = time.monotonic()
    with pytest.raises(EngineUnavailable, match="did not answer"):
        server.decoder(timeout_s=0.2).decode(EVIDENCE)
    assert time.monotonic() - started < 4
    done.set()


def test_a_server_that_is_not_there_is_an_outage() -> None:
    decoder = OpenAIDecoder(f"http://127.0.0.1:{any_free()}", dialect="llama.cpp", model="qwen")
    with pytest.raises(EngineUnavailable, match="did not answer"):
        decoder.decode(EVIDENCE)
    with pytest.raises(EngineUnavailable):
        decoder.warm(EVIDENCE)
    with pytest.raises(EngineUnavailable):
        decoder.probe()


def test_an_unknown_dialect_is_refused_at_once() -> None:
    with pytest.raises(EngineMisconfigured, match="guidance"):
        OpenAIDecoder("http://127.0.0.1:1", dialect="guidance", model="qwen")


def test_a_server_that_honours_the_mask_passes_the_probe(server: Server) -> None:
    server.answer = lambda body: completion(PROBE_WORD)
    for dialect in ("llama.cpp", "vllm"):
        server.decoder(dialect).probe()
    for body in server.bodies:
        mask = body.get("grammar") or body["structured_outputs"]["grammar"]
        assert PROBE_WORD in mask
        assert PROBE_WORD not in json.dumps(body["messages"]), "the prompt gives the word away"


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
def test_a_server_that_ignores_the_mask_fails_the_probe(server: Server, answer: Answer) -> None:
    server.answer = lambda body: answer
    with pytest.raises(EngineMisconfigured):
        server.decoder().probe()


def test_warming_asks_for_the_fixed_part_and_one_token(server: Server) -> None:
    server.answer = lambda body: completion("x", "length")
    decoder = server.decoder()
    decoder.warm(EVIDENCE)
    (warmed,) = server.bodies
    assert warmed["max_tokens"] == 1
    assert warmed["messages"] == messages(EVIDENCE, LABELS)
    assert not {"grammar", "structured_outputs"} & set(warmed)


def test_two_versions_of_a_menu_are_not_mixed_up(server: Server) -> None:
    decoder = server.decoder()
    first = decoder.decode(EVIDENCE)
    renamed = CAFE.items[0].model_copy(update={"name": "caffe latte", "aliases": ("latte",)})
    second_menu = CAFE.model_copy(update={"items": (renamed, *CAFE.items[1:])})
    evidence = retrieve(SAID, second_menu, 1)
    server.answer = lambda body: completion(Labels(second_menu).to_wire(RIGHT))
    second = decoder.decode(evidence)
    assert first.grammar != second.grammar
    assert second.draft == RIGHT
