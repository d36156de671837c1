"""What vLLM is asked for a reading: without the mask first, and under it where the mask would not have
allowed that; with answers that are staged. A real server's are in tests/engines."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from schemas.errors import DecodeInvalid, EngineUnavailable
from services.engines.reader.reading import Sheet, read
from tests.stand_ins import CAFE, RIGHT

Document = dict[str, Any]
SHEET = Sheet(CAFE)
TEXT = SHEET.names.write(RIGHT.model_dump(mode="json")["lines"])
OTHER = TEXT.replace("1 ", "2 ", 1)
CHAT, SCORING = "/v1/chat/completions", "/v1/completions"


class Server:
    """A vLLM that writes `free` where there is no mask, and `OTHER` where there is one."""

    def __init__(self, free: str = TEXT, finish: str = "stop") -> None:
        self.free, self.finish = free, finish
        self.asked: list[tuple[str, Document]] = []
        self.scored = [{"token": "x", "logprob": -0.02}]

    def __call__(self, path: str, body: Document) -> Document:
        self.asked.append((path, body))
        if path == SCORING:
            scored = [None, *({str(token): _score(token)} for token in body["prompt"][1:])]
            return {"choices": [{"prompt_logprobs": scored}]}
        masked = "structured_outputs" in body
        choice = {
            "message": {"content": OTHER if masked else self.free},
            "finish_reason": "stop" if masked else self.finish,
            "token_ids": [21, 22],
            "logprobs": {"content": [*self.scored, {"token": "", "logprob": -0.03}]},
        }
        used = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}
        return {"choices": [choice], "prompt_token_ids": [11, 12], "usage": used}


def _score(token: int) -> Document:
    return {"logprob": -0.5, "rank": 3 if token == 21 else 1, "decoded_token": "x"}


def asked(server: Server) -> Any:
    return read("words", SHEET, dialect="vllm", model="base", adapter="orders", post=server)


def test_an_answer_that_the_mask_allows_is_asked_for_once() -> None:
    server = Server()
    found = asked(server)
    assert [path for path, _ in server.asked] == [CHAT]
    body = server.asked[0][1]
    assert body["model"] == "orders", "the adapter, not its base"
    assert "structured_outputs" not in body
    assert (found.text, found.overruled, found.cached_tokens) == (TEXT, 0, 8)
    assert found.logprob == pytest.approx(-0.05), "its end is part of it"


def test_each_number_and_name_has_its_own_probability() -> None:
    server = Server()
    parts = re.findall(r"[;+|]?[ ]?[^ ;+|]+|[ ]", TEXT)
    assert "".join(parts) == TEXT
    server.scored = [{"token": one, "logprob": math.log(0.5) if "latte" in one else 0.0} for one in parts]
    assert {piece: p for piece, p in asked(server).pieces if p < 1} == {"latte": pytest.approx(0.5)}
    assert "blueberry muffin" in dict(asked(server).pieces)


@pytest.mark.parametrize(
    "server",
    [Server("2 small | bicycle"), Server("the customer wants a latte"), Server(TEXT, finish="length")],
    ids=["off the menu", "talk", "cut off"],
)
def test_what_the_mask_does_not_allow_is_written_under_it(server: Server) -> None:
    found = asked(server)
    assert [path for path, _ in server.asked] == [CHAT, CHAT, SCORING]
    assert "structured_outputs" in server.asked[1][1]
    assert (found.text, found.overruled) == (OTHER, 1)
    assert found.logprob == pytest.approx(-1.0)


def test_a_server_that_ignores_its_mask_is_not_believed() -> None:
    class Careless(Server):
        def __call__(self, path: str, body: Document) -> Document:
            return super().__call__(path, {k: v for k, v in body.items() if k != "structured_outputs"})

    with pytest.raises(DecodeInvalid, match="outside the mask"):
        asked(Careless("talk"))


def test_a_shape_that_is_not_known_is_an_outage() -> None:
    class Other(Server):
        def __call__(self, path: str, body: Document) -> Document:
            return {}

    with pytest.raises(EngineUnavailable, match="no answer that can be read"):
        asked(Other())
