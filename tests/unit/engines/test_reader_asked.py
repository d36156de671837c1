"""What vLLM is asked for a cart: under the mask, and then once more for the scores that no mask touched; with
answers that are staged. A real server's are in tests/engines."""

from __future__ import annotations

import math
from typing import Any

import pytest

from schemas.errors import DecodeInvalid, EngineUnavailable
from services.decoding.reading import Asked, read
from services.decoding.spellings import CART_JSON, ONE_LINE, MenuContext, Spelling
from tests.stand_ins import CAFE, RIGHT

Document = dict[str, Any]
CONTEXT = MenuContext(CAFE)
LINES = RIGHT.model_dump(mode="json")["lines"]
CHAT, SCORING = "/v1/chat/completions", "/v1/completions"


class Server:
    """A vLLM that answers `text` in pieces, each with its score."""

    def __init__(self, text: str, pieces: tuple[str, ...] = (), scores: tuple[float, ...] = (-0.5,)) -> None:
        self.text, self.pieces, self.scores = text, pieces or (text,), scores
        self.asked: list[tuple[str, Document]] = []

    def __call__(self, path: str, body: Document) -> Document:
        self.asked.append((path, body))
        tokens = [*range(21, 21 + len(self.pieces))]
        if path == SCORING:
            scored = zip(tokens, self.pieces, self.scores, strict=True)
            found = [
                {str(token): {"logprob": logprob, "rank": 1 if logprob > -1 else 3, "decoded_token": piece}}
                for token, piece, logprob in scored
            ]
            return {"choices": [{"prompt_logprobs": [None, None, *found]}]}
        choice = {"message": {"content": self.text}, "finish_reason": "stop", "token_ids": tokens}
        used = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}
        return {"choices": [choice], "prompt_token_ids": [11, 12], "usage": used}


def asked(server: Server, spelling: Spelling) -> Any:
    return read("words", CONTEXT, Asked("vllm", "base", spelling, "orders"), post=server)


@pytest.mark.parametrize("spelling", [CART_JSON, ONE_LINE], ids=["json", "line"])
def test_a_cart_is_written_under_the_mask_and_scored_without(spelling: Spelling) -> None:
    server = Server(spelling.write(LINES, CONTEXT))
    found = asked(server, spelling)
    assert [path for path, _ in server.asked] == [CHAT, SCORING]
    body = server.asked[0][1]
    assert body["model"] == "orders", "the adapter, not its base"
    assert body["structured_outputs"] == {"grammar": spelling.mask("words", CONTEXT).lark}
    assert (found.overruled, found.cached_tokens, found.logprob) == (0, 8, pytest.approx(-0.5))
    assert spelling.read(found.text, CONTEXT).lines == list(found.lines)


@pytest.mark.parametrize("spelling", [CART_JSON, ONE_LINE], ids=["json", "line"])
def test_each_number_and_name_has_its_own_probability(spelling: Spelling) -> None:
    text = spelling.write(LINES, CONTEXT)
    before, name, behind = text.partition("latte")
    server = Server(text, (before, name, behind), (0.0, math.log(0.5), 0.0))
    assert {piece: p for piece, p in asked(server, spelling).pieces if p < 1} == {"latte": pytest.approx(0.5)}


def test_tokens_that_the_mask_chose_are_counted() -> None:
    server = Server(ONE_LINE.write(LINES, CONTEXT), scores=(-2.0,))
    assert asked(server, ONE_LINE).overruled == 1


@pytest.mark.parametrize("spelling", [CART_JSON, ONE_LINE], ids=["json", "line"])
def test_a_server_that_ignores_its_mask_is_not_believed(spelling: Spelling) -> None:
    with pytest.raises(DecodeInvalid, match="outside the mask"):
        asked(Server("the customer wants a latte"), spelling)


def test_a_shape_that_is_not_known_is_an_outage() -> None:
    class Other(Server):
        def __call__(self, path: str, body: Document) -> Document:
            return {}

    with pytest.raises(EngineUnavailable, match="sent no completion"):
        asked(Other("1 latte"), ONE_LINE)
