"""What `logit_bias` favours: the tokens of carts of the menu and of the order's words, and no others."""

from __future__ import annotations

import json
import re

import httpx
import pytest

from services.engines.decoding.prompt import examples
from tests.bench.chat import Chat
from tests.bench.orders import Order, menu_of
from tests.bench.techniques.favoured import ALONE, BIAS, END, favoured
from tests.bench.techniques.methods import BY_NAME

MENUS = ("harbor-coffee", "copper-skillet")
SAID = "two of the purple ones, please"
# As tokenizers of language models cut: a word with the space before it, digits alone, a run of marks.
PIECES = re.compile(r"<\|\w+\|>| ?[^\W\d]+|\d|[^\w\s]+|\s")


class Server:
    """Cuts texts as `PIECES` says, numbers what it has not seen yet, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.asked: list[dict[str, object]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if request.url.path == "/tokenize":
            return httpx.Response(200, json={"tokens": self.cut(body["prompt"])})
        self.asked.append(body)
        message = {"content": "{}"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        return httpx.Response(
            200, json={"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
        )

    def cut(self, text: str) -> list[int]:
        return [self.numbers.setdefault(piece, len(self.numbers)) for piece in PIECES.findall(text)]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def chat(server: Server, monkeypatch: pytest.MonkeyPatch) -> Chat:
    plain = httpx.Client
    transport = httpx.MockTransport(server)
    monkeypatch.setattr("httpx.Client", lambda **told: plain(base_url=told["base_url"], transport=transport))
    return Chat("http://bench", "tiny")


@pytest.mark.parametrize("menu", MENUS)
def test_every_token_of_a_cart_is_favoured_and_no_other(menu: str, chat: Chat, server: Server) -> None:
    order = Order("x", SAID, menu_of(menu), [])
    found = favoured(chat, order, BIAS)
    assert set(found.values()) == {BIAS}
    for example in examples(order.menu):
        text = order.labels.to_wire(example.draft)
        unsaid = re.sub(r'"heard":"[^"]*"', '"heard":"the purple ones"', text)
        assert {str(token) for token in server.cut(unsaid)} <= set(found)
    for piece in (*PIECES.findall(SAID), *"0123456789", '"},{"', '"}]},{"', "}]}", END):
        assert str(server.cut(piece)[0]) in found, piece
    for piece in ("unicorn", " unicorn", "```", "\n"):
        assert str(server.cut(piece)[0]) not in found, piece


@pytest.mark.parametrize(("name", "by"), [("bias", BIAS), ("bias-alone", ALONE)])
def test_the_answer_is_free_but_for_the_bias(name: str, by: float, chat: Chat, server: Server) -> None:
    order = Order("x", SAID, menu_of(MENUS[0]), [])
    BY_NAME[name].ask(chat, order, {"temperature": 0})
    (asked,) = server.asked
    assert asked["logit_bias"] == favoured(chat, order, by)
    assert asked["messages"] == order.messages()
    assert not {"structured_outputs", "response_format", "tools"} & set(asked)
