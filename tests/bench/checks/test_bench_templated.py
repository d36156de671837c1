"""A template with holes: a model that means a cart can write it, and an item is offered its own alone."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from schemas.cart import Amount, CartDraft, ItemLine, NotOnMenuLine, OptionDraft
from services.engines.decoding.prompt import examples
from tests.bench.chat import Chat
from tests.bench.orders import Order, labels_of, menu_of
from tests.bench.techniques.reading import exact, read
from tests.bench.techniques.templated import templated

MENUS = ("harbor-coffee", "copper-skillet")


class Meaning:
    """A model that fills each hole so that the answer becomes `text`, and keeps what it was offered."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offered: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        so_far = body["messages"][-1]["content"]
        assert self.text.startswith(so_far)
        message = {"content": self.filled(self.text[len(so_far) :], body.get("structured_outputs", {}))}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        choice = {"message": message, "finish_reason": "stop"}
        return httpx.Response(200, json={"choices": [choice], "usage": usage})

    def filled(self, rest: str, hole: dict[str, Any]) -> str:
        if "regex" in hole:
            self.offered.append(hole["regex"])
            found = re.match(hole["regex"], rest)
            assert found
            return found.group()
        return rest.partition('"')[0]


def chat_with(server: Any, monkeypatch: pytest.MonkeyPatch) -> Chat:
    plain, transport = httpx.Client, httpx.MockTransport(server)
    monkeypatch.setattr("httpx.Client", lambda **told: plain(base_url=told["base_url"], transport=transport))
    return Chat("http://bench", "tiny")


def whole(menu: str) -> CartDraft:
    """Two lines with all that a line may have."""
    item = next(item for item in menu_of(menu).items if item.option_groups and item.size_ids)
    group = next(group for group in menu_of(menu).option_groups if group.id == item.option_groups[0])
    options = (
        OptionDraft(group=group.id, id=group.options[0].id, amount=Amount.EXTRA),
        OptionDraft(group=group.id, id=group.options[1].id, count=3),
    )
    line = ItemLine(
        kind="item", heard="x y", sku=item.sku, quantity=12, size=item.size_ids[0], options=options
    )
    return CartDraft(lines=(line, NotOnMenuLine(kind="not_on_menu", heard="a bicycle", quantity=1)))


@pytest.mark.parametrize("menu", MENUS)
def test_whatever_cart_is_meant_can_be_written(menu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = labels_of(menu)
    for draft in (CartDraft(lines=()), whole(menu), *(example.draft for example in examples(labels.menu))):
        gold = draft.model_dump(mode="json")["lines"]
        order = Order("x", "x", labels.menu, gold)
        meaning = Meaning(labels.to_wire(draft))
        with monkeypatch.context() as patch:
            answers = templated(chat_with(meaning, patch), order, {"temperature": 0})
        assert answers[-1].text == meaning.text
        assert exact(read(answers[-1], labels, order.said), gold)


def test_an_item_is_offered_its_own_options_and_none_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, draft = labels_of(MENUS[0]), whole(MENUS[0])
    meaning = Meaning(labels.to_wire(draft))
    templated(chat_with(meaning, monkeypatch), Order("x", "x", labels.menu, []), {})
    line = draft.lines[0]
    assert isinstance(line, ItemLine)
    own = next(item for item in labels.menu.items if item.sku == line.sku).option_groups
    first, second = [re.compile(offer) for offer in meaning.offered if '","id":"' in offer]
    for (group, option), name in labels.options.items():
        text = f'{labels.groups[group]}","id":"{name}"}}]}}]}}'
        assert bool(first.fullmatch(text)) == (group in own), text
        taken = (group, option) == (line.options[0].group, line.options[0].id)
        assert bool(second.fullmatch(text)) == (group in own and not taken), text


def test_a_hole_that_is_refused_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = chat_with(lambda _: httpx.Response(400, text="no such thing"), monkeypatch)
    order = Order("x", "x", menu_of(MENUS[0]), [])
    (answer,) = templated(chat, order, {})
    assert read(answer, order.labels, order.said).failure == "refused"
    assert answer.text == "no such thing"
