"""Orders -> sequences of token numbers: one menu, then many orders that each see the menu and themselves.

So a menu is computed once for some forty orders, and each order is read as it will be when it is served.
An order that was spoken is learned as it was written and as one recognizer or two transcribed it, of
which now and then the other comes first. Every epoch draws again: the menu's extent and order, with and
without other names, how words were transcribed, an item that the menu turns out not to have. What is saved is
one .npz of flat arrays; `fit.py` reads it without any of our code, so it runs wherever torch does.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from schemas.menu import Item, Menu
from services.decoding import wire
from services.decoding.menu_text import menu_text
from services.learning.training.asr_style import as_transcribed
from services.learning.training.examples import (
    Chat,
    ShownMenu,
    Unspellable,
    noisy_question,
    notes_in,
    with_words,
)
from services.learning.training.orders import Row, TrainingShop, generated, shops

SEQUENCE = 4096  # tokens, menu included; on a CPU 1,024 makes steps short enough to stop between
MOST_TOKENS = 700  # of one order with two transcripts; the rest is left out
SWAPPED = 1 / 3  # how often the second recognizer's words come first
SCARCE = ("turns", "taught/m")  # sources that are learned twice an epoch
GENERATED = 40  # generated orders of each menu and epoch

Asked = tuple[list[int], list[int]]
"""The tokens of an order's question and answer."""


@dataclass(slots=True)
class Sequences:
    """Flat arrays: `tokens`, the order each is of (0 is the menu), whether its token is to be learned, and
    where each sequence ends. How many orders were left out, and why, is only printed."""

    tokens: list[int] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)
    learned: list[bool] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, menu: list[int], orders: Sequence[Asked]) -> None:
        """One sequence: a menu, then each order's question and answer."""
        self._part(menu, 0, False)
        for number, (question, answer) in enumerate(orders, 1):
            self._part(question, number, False)
            self._part(answer, number, True)
        self.ends.append(len(self.tokens))

    def _part(self, tokens: list[int], order: int, learned: bool) -> None:
        self.tokens += tokens
        self.orders += [order] * len(tokens)
        self.learned += [learned] * len(tokens)

    def save(self, file: Path) -> None:
        np.savez(
            file,
            tokens=np.array(self.tokens, np.int32),
            orders=np.array(self.orders, np.int16),
            learned=np.array(self.learned, np.bool_),
            ends=np.array(self.ends, np.int64),
        )


def training(chat: Chat, *, epochs: int, seed: int, sequence: int = SEQUENCE) -> Sequences:
    """All training sequences of at most `sequence` tokens, epoch after epoch, shuffled within each."""
    packed, learned = Sequences(), shops("train")
    for epoch in range(epochs):
        dice = random.Random(f"{seed} {epoch}")  # noqa: S311 - repeatable draws, no secret
        made: list[tuple[list[int], list[Asked]]] = []
        for shop in learned:
            same = random.Random(f"{seed} {shop.menu.id}")  # noqa: S311
            written = same.sample(shop.rows, len(shop.rows))
            rows = [
                *written,
                *(row for row in written if row.source in SCARCE),
                *(replace(row, utterance=row.transcript) for row in written if row.transcript),
                *_paired(written, dice),
                *generated(shop, GENERATED, seed=1000 * seed + epoch),
            ]
            dice.shuffle(rows)
            made += _sequences(chat, shop, rows, dice, sequence, packed.left_out)
        dice.shuffle(made)
        for menu, orders in made:
            packed.add(menu, orders)
    return packed


def _paired(rows: Sequence[Row], dice: random.Random) -> Iterator[Row]:
    """A row for each pair that two recognizers made of an order, the second's words first now and then."""
    for row in rows:
        for first, second in row.pairs:
            swapped = dice.random() < SWAPPED
            one, other = (second, first) if swapped else (first, second)
            yield replace(row, utterance=one or other, second=other if one else "")


def _sequences(
    chat: Chat,
    shop: TrainingShop,
    rows: Sequence[Row],
    dice: random.Random,
    sequence: int,
    left_out: Counter[str],
) -> Iterator[tuple[list[int], list[Asked]]]:
    """A menu and the orders that fit behind it, until none are left; `left_out` counts those that do not."""
    at = 0
    while at < len(rows):
        part = rows[at : at + dice.choice((12, 24, 40))]
        shown, gone, menu = _menu(chat, shop, part, dice, sequence)
        room = sequence - len(menu)
        orders: list[Asked] = []
        for row in part:
            try:
                question, answer = _asked(chat, row, shown, gone, dice)
                size = len(question) + len(answer)
                if size > MOST_TOKENS:
                    raise Unspellable("too long")
                if size > room and not orders:
                    raise Unspellable("no room behind its menu")
            except Unspellable as error:
                left_out[error.reason] += 1
            else:
                if size > room:
                    break
                room -= size
                orders.append((question, answer))
            at += 1
        if orders:
            yield menu, orders


def _menu(
    chat: Chat, shop: TrainingShop, part: Sequence[Row], dice: random.Random, sequence: int
) -> tuple[ShownMenu, frozenset[str], list[int]]:
    """What is shown of a menu, what is missing though it is asked for, and the tokens. A menu that leaves no
    room for a few orders is drawn with less of it, at last with what is asked for alone."""
    aliases = dice.random() < 0.6
    items, gone = _extent(shop.menu, part, dice)
    needed = {line["sku"] for row in part for line in row.lines if line.get("sku")}
    for others in (len(items), 20, 0):
        kept = [item for item in items if item.sku in needed]
        kept += [item for item in items if item.sku not in needed][:others]
        shown = items if others == len(items) else kept or items[:1]
        menu = chat.menu(menu_text(shop.menu, shop.names, items=shown, aliases=aliases))
        if len(menu) <= sequence * 3 // 4:
            break
    return ShownMenu(shop, shown), gone, menu


def _asked(chat: Chat, row: Row, shown: ShownMenu, gone: frozenset[str], dice: random.Random) -> Asked:
    """The tokens of one order's question and answer. Raises Unspellable."""
    shop = shown.shop
    transcript = row.utterance if row.second else as_transcribed(row.utterance, dice)
    lines = with_words(row, transcript, gone, shop)
    notes = notes_in(row, transcript)
    asked = noisy_question(transcript, shown, dice, row.second)
    return chat.question(asked), chat.answer(wire.write(lines, shop.names, notes))


def _extent(menu: Menu, rows: Sequence[Row], dice: random.Random) -> tuple[list[Item], frozenset[str]]:
    """The items that are shown, and those that are missing though they are asked for."""
    items = list(menu.items)
    needed = {line["sku"] for row in rows for line in row.lines if line.get("sku")}
    gone = _gone(items, needed, dice) if dice.random() < 0.25 else frozenset()
    items = [item for item in items if item.sku not in gone]
    if dice.random() < 0.4:
        share = dice.random()
        items = [item for item in items if item.sku in needed or dice.random() < share]
    if dice.random() < 0.5:
        dice.shuffle(items)
    return items or list(menu.items), gone


def _gone(items: Sequence[Item], needed: set[str], dice: random.Random) -> frozenset[str]:
    """One or two that are asked for, which the menu turns out not to have."""
    lonely = [item.sku for item in items if item.sku in needed and _lonely(item, items)]
    return frozenset(dice.sample(lonely, min(len(lonely), dice.choice((1, 1, 2)))))


def _lonely(item: Item, items: Sequence[Item]) -> bool:
    """Whether no other item's name has a word of this one's, so that without it it surely is off the menu."""
    words = _words(item)
    return not any(words & _words(other) for other in items if other is not item)


def _words(item: Item) -> set[str]:
    called = " ".join((item.name, *item.aliases)).lower()
    return {word.rstrip("s") for word in re.findall(r"\w+", called)}
