"""Only choices are asked for: the beginnings that go in, the answers taken, and the ends it comes to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llguidance import LLMatcher

from schemas.errors import (
    DecodeInvalid,
    DecodeTruncated,
    EngineError,
    EngineMisconfigured,
    EngineUnavailable,
)
from schemas.evidence import OffMenuEvidence
from services.engines.decoding import blanks
from services.engines.decoding.decoder import OpenAIDecoder
from services.engines.decoding.prompt import messages
from services.engines.masks.grammar import build_mask
from services.engines.masks.labels import Labels
from services.reading.order import read_order
from tests.servers.staged_server import Answer, StagedServer, begun, completion, model, staged_server
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


@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
@pytest.mark.parametrize("letters", [1, 3, 9, 400])
def test_only_choices_are_asked_for(server: StagedServer, dialect: str, letters: int) -> None:
    """However long the tokens of a model are, the cart is the one that it would write."""
    server.answer = model(WIRE, letters)
    decoded = server.decoder(dialect, whole=False).decode(MAYBE)
    assert decoded.draft == RIGHT
    assert decoded.requests == len(server.bodies)
    assert decoded.completion_tokens == 22 * decoded.requests
    assert decoded.prompt_tokens == 11, "of the first request"
    asked = [begun(body) for body in server.bodies]
    assert asked == sorted(asked, key=len)
    assert all(WIRE.startswith(beginning) for beginning in asked)
    for body in server.bodies:
        grammar = body["structured_outputs"]["grammar"] if dialect == "vllm" else body["grammar"]
        assert not LLMatcher.validate_grammar(grammar)
        assert body["max_tokens"] <= 16
        assert body["messages"][:-1] == messages(EVIDENCE, LABELS)
        assert body.get("continue_final_message") is (True if dialect == "vllm" else None)
        assert body.get("add_generation_prompt") is (False if dialect == "vllm" else None)


def test_what_is_settled_is_not_asked_for(server: StagedServer) -> None:
    """Of this order only the end is open: is what nobody understood a wish, or small talk?"""
    talk = OffMenuEvidence(words="and", quantities=(1,))
    evidence = EVIDENCE.model_copy(update={"off_menu": (talk,), "unexplained": ("and",)})
    assert server.decoder(whole=False).decode(evidence).draft == RIGHT
    assert begun(server.bodies[0]) == WIRE.removesuffix("}]}")


@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
def test_where_all_is_forced_no_server_is_asked(dialect: str) -> None:
    nowhere = OpenAIDecoder("http://127.0.0.1:1", dialect=dialect, model="qwen")
    decoded = nowhere.decode(EVIDENCE)
    assert decoded.draft == RIGHT
    assert (decoded.requests, decoded.completion_tokens, decoded.prompt_tokens) == (0, 0, 0)
    assert decoded.engine == "none: settled"


def test_where_there_is_no_end_of_what_is_open_the_whole_is_decoded(
    server: StagedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blanks, "MOST_TEXTS", 3)
    nothing_known = EVIDENCE.model_copy(update={"lines": ()})
    wish = '{"lines":[{"kind":"not_on_menu","heard":"milk and a","quantity":1}]}'
    server.answer = model(wish)
    decoded = server.decoder(whole=False).decode(nothing_known)
    assert [line.heard for line in decoded.draft.lines] == ["milk and a"]
    first, *_, last = server.bodies
    assert begun(first)
    assert not begun(last)
    assert last["max_tokens"] > build_mask(nothing_known, LABELS, "v").longest
    assert decoded.requests == len(server.bodies), "what was asked before counts too"


def test_the_time_limit_is_that_of_all_choices_together(server: StagedServer) -> None:
    def slow(body: dict[str, Any]) -> Answer:
        time.sleep(0.3)
        return model(WIRE, 1)(body)

    server.answer = slow
    started = time.monotonic()
    with pytest.raises(EngineUnavailable, match="did not answer"):
        server.decoder(whole=False, timeout_s=1.0).decode(MAYBE)
    assert time.monotonic() - started < 3
    assert len(server.bodies) > 1


STEPS: dict[str, tuple[Callable[[str], Answer], type[EngineError]]] = {
    "from the start again": (lambda begun: completion(WIRE[:5], "length"), DecodeInvalid),
    "free text": (lambda begun: completion(f"{begun} and so on", "length"), DecodeInvalid),
    "a price": (lambda begun: completion(f'{begun},"price":1', "length"), DecodeInvalid),
    "a word in place of a number": (lambda begun: completion(f'{begun}"', "length"), DecodeInvalid),
    "nothing": (lambda begun: completion(begun, "length"), DecodeTruncated),
    "null": (lambda begun: completion(None, "length"), DecodeInvalid),
    "stopped for another reason": (lambda begun: completion(begun + "}", "content_filter"), DecodeTruncated),
    "half a surrogate pair": (lambda begun: completion(begun + "\ud800"), DecodeInvalid),
    "a fault": (lambda begun: (500, b"boom"), EngineUnavailable),
    "busy": (lambda begun: (429, b"slow down"), EngineUnavailable),
    "bad request": (lambda begun: (400, b'{"error": "grammar"}'), EngineMisconfigured),
    "no choices": (lambda begun: (200, b'{"choices": []}'), EngineUnavailable),
}


@pytest.mark.parametrize("what", STEPS)
def test_any_other_step_is_an_error_that_says_what_it_means(server: StagedServer, what: str) -> None:
    step, error = STEPS[what]
    server.answer = lambda body: step(begun(body))
    with pytest.raises(EngineError) as caught:
        server.decoder(whole=False).decode(MAYBE)
    assert type(caught.value) is error
    assert caught.value.hint
