"""Training examples: a prompt, with noise in its line of retrieved names, and the expected answer.

Both have the form that is served (`services/decoding`): the customer's words, then a line of menu names found
in them; the answer is compact cart JSON (`wire.write`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.cart import Line, NoteDraft, NoteKind
from schemas.menu import Item
from services.decoding.ports import CartRequest
from services.decoding.prompt import (
    MenuContext,
    messages,
    names_line,
    possible_names,
    user_message,
)
from services.decoding.wire_mask import wire_mask
from services.learning.training.orders import Row, TrainingShop
from services.retrieval.names import Name
from services.retrieval.retrieval import Match

# Probabilities that the line of names is absent, lacks a name, has a wrong one, or lists a sure one as
# possible.
NO_LINE, MISSING, WRONG, DEMOTED = 0.1, 0.15, 0.2, 0.1

# Some orders written before notes existed mention an allergy that no note records.
_ALLERGY = re.compile(r"\ballerg|\bco?eliac|\bintoleran", re.IGNORECASE)


class UnusableOrder(ValueError):
    """An order that can't be an example, such as one whose transcript lacks the words of a note. `reason` is
    what orders are counted by."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ShownMenu:
    """The part of a menu in a training sequence."""

    shop: TrainingShop
    items: Sequence[Item]

    def has(self, name: Name) -> bool:
        """Return True if a name of the menu is shown."""
        if name.kind == "item":
            return any(item.sku == name.id for item in self.items)
        if name.kind == "size":
            return any(name.id in item.size_ids for item in self.items)
        return any(name.group in item.option_groups for item in self.items)


def noisy_question(transcript: str, shown: ShownMenu, dice: random.Random, second: str = "") -> str:
    """Return the user message with mistakes in its line of names: none, too few or wrong ones, so that the
    model learns to use the line without trusting it."""
    if dice.random() < NO_LINE:
        return user_message(transcript, "", second)
    context = shown.shop.context
    retrieval = context.retrieve(transcript)
    other = context.retrieve(second) if second else None
    sure = list(filter(shown.has, retrieval.names(Match.WHOLE)))
    possible = list(filter(shown.has, possible_names(retrieval, other)))
    _add_noise(sure, possible, shown, dice)
    numbers = (number.value for number in retrieval.numbers)
    return user_message(transcript, names_line(sure, possible, numbers, context.names), second)


def _add_noise(sure: list[Name], possible: list[Name], shown: ShownMenu, dice: random.Random) -> None:
    """At random, drop a sure name, demote one to possible, or add one that was not said."""
    if sure and dice.random() < MISSING:
        sure.remove(dice.choice(sure))
    if sure and dice.random() < DEMOTED:
        demoted = dice.choice(sure)
        sure.remove(demoted)
        possible.append(demoted)
    if dice.random() < WRONG:
        item = dice.choice(shown.items)
        (sure if dice.random() < 0.2 else possible).insert(0, Name("item", item.sku, item.name))


def with_words(row: Row, transcript: str, hidden: Collection[str], shop: TrainingShop) -> list[Line]:
    """Return the lines of an order, with each off-menu request in the words of `transcript`. Items in
    `hidden` become such requests, since the shown menu lacks them.

    Raises:
        UnusableOrder: the words of a request are unknown, or not in the transcript.
    """
    requests = iter(row.off_menu)
    lines: list[Line] = []
    for line in row.lines:
        sku = line.get("sku")
        if sku and sku not in hidden:
            lines.append(line)
            continue
        words = _mention_of(sku, row.utterance, shop) if sku else next(requests, None)
        quantity, heard = line.get("quantity", 1), _as_spoken(words, transcript)
        lines.append({"kind": "not_on_menu", "quantity": quantity, "heard": heard})
    return lines


def notes_in(row: Row, transcript: str) -> list[NoteDraft]:
    """Return the notes of an order, in the words of `transcript`.

    Raises:
        UnusableOrder: the transcript lacks the words of a note, or mentions an allergy that no note records.
    """
    if not row.notes and _ALLERGY.search(row.utterance):
        raise UnusableOrder("an allergy without a note")
    return [NoteDraft(kind=NoteKind(kind), heard=_as_spoken(words, transcript)) for kind, words in row.notes]


def _mention_of(sku: str, transcript: str, shop: TrainingShop) -> str | None:
    for mention in shop.context.retrieve(transcript).mentions:
        if mention.match is Match.WHOLE and any((n.kind, n.id) == ("item", sku) for n in mention.names):
            return transcript[mention.start : mention.end]
    return None


def _as_spoken(words: str | None, transcript: str) -> str:
    """Return the words as the transcript spells them: case and punctuation may differ."""
    if not words:
        raise UnusableOrder("an off-menu request without its words")
    pattern = r"[^\w]+".join(map(re.escape, re.findall(r"\w+", words)))
    matches = list(re.finditer(rf"\b{pattern}\b", transcript, re.IGNORECASE))
    if not pattern or not matches:
        raise UnusableOrder("words of a request or note not in the transcript", f"{words!r}, {transcript!r}")
    return matches[-1][0]


_MARK = "\x00"


class Chat:
    """The tokenizer's chat template, split where the menu ends and where the answer begins."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        template = tokenizer.apply_chat_template(
            messages(_MARK + "m", _MARK + "s"), tokenize=False, add_generation_prompt=True
        )
        self._before, rest = template.split(_MARK + "m")
        self._between, self._after = rest.split(_MARK + "s")
        self.end = self._tokens("<|im_end|>")

    def menu(self, text: str) -> list[int]:
        return self._tokens(self._before + text)

    def question(self, message: str) -> list[int]:
        return self._tokens(self._between + message + self._after)

    def answer(self, text: str) -> list[int]:
        return self._tokens(text) + self.end

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])


def chat_of(path: Path) -> Chat:
    """Load the chat template of a GGUF or a folder."""
    from transformers import AutoTokenizer

    if path.is_dir():
        return Chat(AutoTokenizer.from_pretrained(path))
    return Chat(AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name))


Requests = Iterable[tuple[str, CartRequest]]


def questions(chat: Chat, part: str, context: MenuContext, requests: Requests) -> dict[str, Any]:
    """Return the requests of one menu, with their ids, as `answer.py` reads them: the menu's tokens, and each
    order's tokens and mask. Contains no carts."""
    orders = [
        {
            "id": key,
            "tokens": chat.question(context.messages(request)[1]["content"]),
            "lark": wire_mask(context.names, request.transcript).lark,
        }
        for key, request in requests
    ]
    return {"part": part, "menu": chat.menu(context.text), "orders": orders}
