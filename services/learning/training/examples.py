"""An order as the reader learns it: the question, whose line of names may go wrong, and the answer.

Both are spelled as they are served (`services/decoding`): behind the customer's words a line with the menu's
names in them, answered by compact cart JSON (`wire.write`).
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
from services.decoding.prompt import MenuContext, guessed, line, messages, turn, written
from services.decoding.wire_mask import wire_mask
from services.learning.training.orders import Row, TrainingShop
from services.retrieval.names import Name
from services.retrieval.retrieval import Match

# How often the line of names is left out, lacks one, has a false one, or calls a sure one a guess.
UNNAMED, MISSED, FALSE, DOUBTED = 0.1, 0.15, 0.2, 0.1

# Orders that were written before there were notes tell of some allergies in words alone.
_ALLERGY = re.compile(r"\ballerg|\bco?eliac|\bintoleran", re.IGNORECASE)


class Unspellable(ValueError):
    """An order that can't be put to the reader: the words of a wish are not in it, say. Orders are counted by
    `reason`."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ShownMenu:
    """The part of a menu that a training sequence shows."""

    shop: TrainingShop
    items: Sequence[Item]

    def has(self, name: Name) -> bool:
        """Whether a name of the menu is among what is shown."""
        if name.kind == "item":
            return any(item.sku == name.id for item in self.items)
        if name.kind == "size":
            return any(name.id in item.size_ids for item in self.items)
        return any(name.group in item.option_groups for item in self.items)


def noisy_question(transcript: str, shown: ShownMenu, dice: random.Random, second: str = "") -> str:
    """The question with a line of names as it might go wrong: missing, too short, with false hits. So the
    reader leans on the line and is not led by it."""
    if dice.random() < UNNAMED:
        return turn(transcript, "", second)
    context = shown.shop.context
    found = context.retrieve(transcript)
    other = context.retrieve(second) if second else None
    whole = list(filter(shown.has, found.names(Match.WHOLE)))
    perhaps = list(filter(shown.has, guessed(found, other)))
    _go_wrong(whole, perhaps, shown, dice)
    names = line(
        [written(name, context.names) for name in whole],
        [written(name, context.names) for name in perhaps],
        [number.value for number in found.numbers],
    )
    return turn(transcript, names, second)


def _go_wrong(whole: list[Name], perhaps: list[Name], shown: ShownMenu, dice: random.Random) -> None:
    """Now and then lose a sure name, call one a guess, or add one that was not said."""
    if whole and dice.random() < MISSED:
        whole.remove(dice.choice(whole))
    if whole and dice.random() < DOUBTED:
        doubted = dice.choice(whole)
        whole.remove(doubted)
        perhaps.append(doubted)
    if dice.random() < FALSE:
        item = dice.choice(shown.items)
        (whole if dice.random() < 0.2 else perhaps).insert(0, Name("item", item.sku, item.name))


def with_words(row: Row, transcript: str, gone: Collection[str], shop: TrainingShop) -> list[Line]:
    """The lines of an order with every wish off the menu in the customer's own words, as they stand in
    `transcript`. Items in `gone` are such wishes, too, since the menu that is shown does not have them.

    Raises:
        Unspellable: the words of a wish are not known, or not in the transcript.
    """
    noted = iter(row.off_menu)
    made: list[Line] = []
    for one in row.lines:
        sku = one.get("sku")
        if sku and sku not in gone:
            made.append(one)
            continue
        words = _called(sku, row.utterance, shop) if sku else next(noted, None)
        quantity, heard = one.get("quantity", 1), _as_spoken(words, transcript)
        made.append({"kind": "not_on_menu", "quantity": quantity, "heard": heard})
    return made


def notes_in(row: Row, transcript: str) -> list[NoteDraft]:
    """The notes of an order, as their words stand in `transcript`.

    Raises:
        Unspellable: the words of a note are not in the transcript, or an allergy is that was not noted.
    """
    if not row.notes and _ALLERGY.search(row.utterance):
        raise Unspellable("an allergy that was not noted")
    return [NoteDraft(kind=NoteKind(kind), heard=_as_spoken(words, transcript)) for kind, words in row.notes]


def _called(sku: str, transcript: str, shop: TrainingShop) -> str | None:
    for mention in shop.context.retrieve(transcript).mentions:
        if mention.match is Match.WHOLE and any((n.kind, n.id) == ("item", sku) for n in mention.names):
            return transcript[mention.start : mention.end]
    return None


def _as_spoken(words: str | None, transcript: str) -> str:
    """The words as the transcript has them, which may have lost case and punctuation."""
    if not words:
        raise Unspellable("the words of a wish off the menu were not noted")
    pattern = r"[^\w]+".join(map(re.escape, re.findall(r"\w+", words)))
    found = list(re.finditer(rf"\b{pattern}\b", transcript, re.IGNORECASE))
    if not pattern or not found:
        raise Unspellable("the words of a wish or note are not transcribed", f"{words!r}, {transcript!r}")
    return found[-1][0]


_MARK = "\x00"


class Chat:
    """The tokenizer's own chat template, cut where the menu ends and where the answer begins."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        whole = tokenizer.apply_chat_template(
            messages(_MARK + "m", _MARK + "s"), tokenize=False, add_generation_prompt=True
        )
        self._before, rest = whole.split(_MARK + "m")
        self._between, self._after = rest.split(_MARK + "s")
        self.end = self._tokens("<|im_end|>")

    def menu(self, text: str) -> list[int]:
        return self._tokens(self._before + text)

    def question(self, turn: str) -> list[int]:
        return self._tokens(self._between + turn + self._after)

    def answer(self, spelled: str) -> list[int]:
        return self._tokens(spelled) + self.end

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])


def chat_of(path: Path) -> Chat:
    """The chat of the tokenizer in a GGUF or a folder."""
    from transformers import AutoTokenizer

    if path.is_dir():
        return Chat(AutoTokenizer.from_pretrained(path))
    return Chat(AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name))


Asked = Iterable[tuple[str, CartRequest]]


def questions(chat: Chat, part: str, context: MenuContext, asked: Asked) -> dict[str, Any]:
    """Requests over one menu, by id, as `answer.py` asks an adapter where our code is not: the menu's tokens,
    and each order's tokens and mask. No cart is in it."""
    orders = [
        {
            "id": key,
            "tokens": chat.question(context.messages(request)[1]["content"]),
            "lark": wire_mask(context.names, request.transcript).lark,
        }
        for key, request in asked
    ]
    return {"part": part, "menu": chat.menu(context.text), "orders": orders}
