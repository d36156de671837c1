"""The levers of the prompt: the same order and mask, with other messages before the cart.

Examples by similarity come from the half that is measured, each order left out of its own: an upper bound for
what a shop's own past orders could give. A note or a draft is a call of its own, at temperature 0 like all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch

from rapidfuzz import fuzz, process

from schemas.cart import MAX_HEARD_CHARS, CartDraft
from schemas.evidence import Evidence
from services.engines.decoding.prompt import messages
from services.engines.masks.labels import Labels
from services.engines.ports import Message
from tests.bench.orders import Order, sample
from tests.bench.techniques.methods import DRAFT, MAX_TOKENS

TUNED = ("tests/golden/harbor-coffee-tuned.jsonl", "tests/golden/copper-skillet-tuned.jsonl")
SIMILAR = 3
NOTE = "First say in one line what is ordered, after all corrections."
NOTE_TOKENS = 120
# Begun for the model, and ended by it: one line without a brace, so that it can be no cart.
NOTE_GRAMMAR = '%llguidance {}\nstart: "What is ordered, after corrections: " /[^\\n{}]{1,300}/\n'
FROM_NOTE = "Write the cart."

Ask = Callable[[list[Message], dict[str, Any]], str]
"""Messages and further fields of a request to the model's text."""
Prompt = Callable[[Evidence, Labels, Ask], list[Message]]


@dataclass(frozen=True, slots=True)
class Known:
    """An order of the tuned half with its cart as a draft."""

    said: str
    draft: CartDraft


@cache
def tuned(menu: str) -> dict[str, Known]:
    """By id, the tuned orders of a menu, as examples."""
    return {
        order.id: Known(order.said, _draft(order)) for order in sample(1000, TUNED) if order.menu.id == menu
    }


def _draft(order: Order) -> CartDraft:
    """Gold with the words of each line, which gold does not have: the place that names its item, or else all
    that fits into a line."""
    places = {sku: line.anchor for line in order.evidence().lines for sku in line.items}
    whole = (
        order.said[:MAX_HEARD_CHARS].rsplit(" ", 1)[0] if len(order.said) > MAX_HEARD_CHARS else order.said
    )
    lines = [{"kind": "item", **line, "heard": places.get(line.get("sku"), whole)} for line in order.gold]
    return CartDraft.model_validate({"lines": lines})


def nearest(said: str, known: Mapping[str, Known], count: int = SIMILAR) -> list[Known]:
    """The orders most like `said`, the likest last, without those of the same words."""
    others = {ref: one.said for ref, one in known.items() if one.said != said}
    found = process.extract(said, others, scorer=fuzz.token_set_ratio, limit=count)
    return [known[ref] for _, _, ref in reversed(found)]


def _as_it_is(evidence: Evidence, labels: Labels, ask: Ask) -> list[Message]:
    return messages(evidence, labels)


def _no_examples(evidence: Evidence, labels: Labels, ask: Ask) -> list[Message]:
    chat = messages(evidence, labels)
    return [chat[0], chat[-1]]


def _similar(evidence: Evidence, labels: Labels, ask: Ask) -> list[Message]:
    chat = messages(evidence, labels)
    shown: list[Message] = []
    for one in nearest(evidence.transcript, tuned(evidence.menu.id)):
        said = evidence.model_copy(update={"transcript": one.said})
        shown += [messages(said, labels)[-1], {"role": "assistant", "content": labels.to_wire(one.draft)}]
    return [chat[0], *shown, chat[-1]]


def _noted(evidence: Evidence, labels: Labels, ask: Ask) -> list[Message]:
    chat = messages(evidence, labels)
    wish = {"role": "user", "content": f"{chat[-1]['content']}\n{NOTE}"}
    note = ask([*chat[:-1], wish], {"max_tokens": NOTE_TOKENS, "grammar": NOTE_GRAMMAR})
    written = {"role": "assistant", "content": note}
    return [*chat[:-1], wish, written, {"role": "user", "content": FROM_NOTE}]


def _drafted(evidence: Evidence, labels: Labels, ask: Ask) -> list[Message]:
    chat = messages(evidence, labels)
    draft = {"role": "assistant", "content": ask(chat, {"max_tokens": MAX_TOKENS})}
    return [*chat, draft, {"role": "user", "content": DRAFT}]


def _excerpt(evidence: Evidence, labels: Labels, ask: Ask) -> list[Message]:
    """Only what may be meant of the menu, beside the customer's words, as for a menu too long to show."""
    with patch("services.engines.decoding.prompt.WHOLE_MENU_NAMES", 0):
        return messages(evidence, labels)


PROMPTS: dict[str, Prompt] = {
    "as it is": _as_it_is,
    "no examples": _no_examples,
    "examples by similarity": _similar,
    "scratchpad": _noted,
    "draft first": _drafted,
    "menu cut down": _excerpt,
}
