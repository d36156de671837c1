"""What vLLM is asked for a cart: under the mask, and then once more for the scores that no mask touched; with
answers that are staged. A real server's are in tests/engines."""

from __future__ import annotations

import math
from typing import Any

import pytest

from schemas.errors import DecodeInvalid, EngineUnavailable
from services.decoding import wire
from services.decoding.menu_context import MenuContext
from services.decoding.ports import CartRequest
from services.decoding.prompt import messages
from services.decoding.reading import Asked, read
from services.decoding.wire_mask import wire_mask
from tests.stand_ins import CAFE, RIGHT

Document = dict[str, Any]
CONTEXT = MenuContext(CAFE)
CART = wire.write(RIGHT.model_dump(mode="json")["lines"], CONTEXT.names)
SAID = "a small latte"
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


def asked(server: Server, second: str = "") -> Any:
    return read(CartRequest(SAID, CAFE, second), CONTEXT, Asked("vllm", "base", "orders"), post=server)


def test_a_cart_is_written_under_the_mask_and_scored_without() -> None:
    server = Server(CART)
    found = asked(server)
    assert [path for path, _ in server.asked] == [CHAT, SCORING]
    body = server.asked[0][1]
    assert body["model"] == "orders", "the adapter, not its base"
    assert body["structured_outputs"] == {"grammar": wire_mask(CONTEXT.names, SAID).lark}
    assert (found.overruled, found.cached_tokens, found.logprob) == (0, 8, pytest.approx(-0.5))
    assert wire.read_cart(found.text, CONTEXT.names).lines == list(found.lines)


def test_what_a_second_recogniser_heard_is_shown_and_no_words_are_taken_from_it() -> None:
    """In training a wish or a note was always in the first recogniser's words."""
    server = Server(CART)
    asked(server, "a small oat latte")
    body = server.asked[0][1]
    named = "Named: small; latte. Perhaps: oat milk"
    assert body["messages"] == messages(CONTEXT.text, SAID, named, "a small oat latte")
    assert body["messages"][1]["content"] == f"{SAID}\nOr: a small oat latte\n{named}"
    assert body["structured_outputs"] == {"grammar": wire_mask(CONTEXT.names, SAID).lark}


def test_each_number_and_name_has_its_own_probability() -> None:
    before, name, behind = CART.partition("latte")
    server = Server(CART, (before, name, behind), (0.0, math.log(0.5), 0.0))
    found = asked(server)
    assert {piece: p for piece, p in found.pieces if p < 1} == {"latte": pytest.approx(0.5)}
    assert [piece for piece, _ in found.pieces[:2]] == ["latte", "large"]


def test_tokens_that_the_mask_chose_are_counted() -> None:
    assert asked(Server(CART, scores=(-2.0,))).overruled == 1


def test_a_server_that_ignores_its_mask_is_not_believed() -> None:
    with pytest.raises(DecodeInvalid, match="outside the mask"):
        asked(Server("the customer wants a latte"))


def test_a_shape_that_is_not_known_is_an_outage() -> None:
    class Other(Server):
        def __call__(self, path: str, body: Document) -> Document:
            return {}

    with pytest.raises(EngineUnavailable, match="sent no completion"):
        asked(Other(CART))
