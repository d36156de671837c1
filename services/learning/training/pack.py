"""Pack orders into token sequences: a menu, then many orders that each attend to the menu and themselves.

So the menu is computed once for about forty orders, and each order looks as it will when served. A spoken
order is packed as written and as transcribed by one recognizer or by two, sometimes in reverse order. Each
epoch varies at random which items are shown, in which order, with or without aliases, how words are
transcribed, and whether an ordered item is missing from the menu. The result is one .npz of flat arrays,
which `fit.py` reads without our code.
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
    UnusableOrder,
    noisy_question,
    notes_in,
    with_words,
)
from services.learning.training.orders import Row, TrainingShop, generated, shops

SEQUENCE = 4096  # tokens, menu included; on a CPU 1,024 gives shorter steps
MAX_ORDER_TOKENS = 700  # of one order with two transcripts; longer ones are skipped
SWAPPED = 1 / 3  # probability that the second recognizer's transcript comes first
SCARCE = ("turns", "train/m")  # sources that are used twice per epoch
GENERATED = 40  # generated orders per menu and epoch

Example = tuple[list[int], list[int]]
"""The tokens of a question and its answer."""


@dataclass(slots=True)
class Sequences:
    """Flat arrays: `tokens`, the number of each token's order (0: the menu), whether it is to be predicted,
    and where each sequence ends. `skipped` counts the skipped orders by reason; it isn't saved."""

    tokens: list[int] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)
    learned: list[bool] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, menu: list[int], orders: Sequence[Example]) -> None:
        """Append a sequence: a menu, then each order's question and answer."""
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
    """Return all training sequences of at most `sequence` tokens, shuffled within each epoch."""
    packed, training_shops = Sequences(), shops("train")
    for epoch in range(epochs):
        dice = random.Random(f"{seed} {epoch}")  # noqa: S311 - repeatable draws, no secret
        sequences: list[tuple[list[int], list[Example]]] = []
        for shop in training_shops:
            fixed = random.Random(f"{seed} {shop.menu.id}")  # noqa: S311
            written = fixed.sample(shop.rows, len(shop.rows))
            rows = [
                *written,
                *(row for row in written if row.source in SCARCE),
                *(replace(row, utterance=row.transcript) for row in written if row.transcript),
                *_paired(written, dice),
                *generated(shop, GENERATED, seed=1000 * seed + epoch),
            ]
            dice.shuffle(rows)
            sequences += _sequences(chat, shop, rows, dice, sequence, packed.skipped)
        dice.shuffle(sequences)
        for menu, orders in sequences:
            packed.add(menu, orders)
    return packed


def _paired(rows: Sequence[Row], dice: random.Random) -> Iterator[Row]:
    """Yield a row for each pair of transcripts by two recognizers, some in reverse order."""
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
    skipped: Counter[str],
) -> Iterator[tuple[list[int], list[Example]]]:
    """Yield a menu and the orders that fit after it, until all rows are used; count the skipped ones."""
    at = 0
    while at < len(rows):
        part = rows[at : at + dice.choice((12, 24, 40))]
        shown, hidden, menu = _menu(chat, shop, part, dice, sequence)
        remaining = sequence - len(menu)
        orders: list[Example] = []
        for row in part:
            try:
                question, answer = _example(chat, row, shown, hidden, dice)
                size = len(question) + len(answer)
                if size > MAX_ORDER_TOKENS:
                    raise UnusableOrder("too long")
                if size > remaining and not orders:
                    raise UnusableOrder("doesn't fit after its menu")
            except UnusableOrder as error:
                skipped[error.reason] += 1
            else:
                if size > remaining:
                    break
                remaining -= size
                orders.append((question, answer))
            at += 1
        if orders:
            yield menu, orders


def _menu(
    chat: Chat, shop: TrainingShop, part: Sequence[Row], dice: random.Random, sequence: int
) -> tuple[ShownMenu, frozenset[str], list[int]]:
    """Return the shown part of a menu, the ordered items that it hides, and its tokens. A menu that leaves
    too little room for orders is shortened, in the end to the ordered items alone."""
    aliases = dice.random() < 0.6
    items, hidden = _visible(shop.menu, part, dice)
    ordered = {line["sku"] for row in part for line in row.lines if line.get("sku")}
    for others in (len(items), 20, 0):
        shorter = [item for item in items if item.sku in ordered]
        shorter += [item for item in items if item.sku not in ordered][:others]
        shown = items if others == len(items) else shorter or items[:1]
        menu = chat.menu(menu_text(shop.menu, shop.names, items=shown, aliases=aliases))
        if len(menu) <= sequence * 3 // 4:
            break
    return ShownMenu(shop, shown), hidden, menu


def _example(chat: Chat, row: Row, shown: ShownMenu, hidden: frozenset[str], dice: random.Random) -> Example:
    """Return the tokens of one order's question and answer. Raises UnusableOrder."""
    shop = shown.shop
    transcript = row.utterance if row.second else as_transcribed(row.utterance, dice)
    lines = with_words(row, transcript, hidden, shop)
    notes = notes_in(row, transcript)
    question = noisy_question(transcript, shown, dice, row.second)
    return chat.question(question), chat.answer(wire.write(lines, shop.names, notes))


def _visible(menu: Menu, rows: Sequence[Row], dice: random.Random) -> tuple[list[Item], frozenset[str]]:
    """Return a random selection of items to show, and the ordered items that it hides."""
    items = list(menu.items)
    ordered = {line["sku"] for row in rows for line in row.lines if line.get("sku")}
    hidden = _hidden(items, ordered, dice) if dice.random() < 0.25 else frozenset()
    items = [item for item in items if item.sku not in hidden]
    if dice.random() < 0.4:
        share = dice.random()
        items = [item for item in items if item.sku in ordered or dice.random() < share]
    if dice.random() < 0.5:
        dice.shuffle(items)
    return items or list(menu.items), hidden


def _hidden(items: Sequence[Item], ordered: set[str], dice: random.Random) -> frozenset[str]:
    """Choose one or two ordered items to hide."""
    distinct = [item.sku for item in items if item.sku in ordered and _is_distinct(item, items)]
    return frozenset(dice.sample(distinct, min(len(distinct), dice.choice((1, 1, 2)))))


def _is_distinct(item: Item, items: Sequence[Item]) -> bool:
    """Return True if no other item shares a word with its name: once hidden, it is surely off the menu."""
    words = _words(item)
    return not any(words & _words(other) for other in items if other is not item)


def _words(item: Item) -> set[str]:
    names = " ".join((item.name, *item.aliases)).lower()
    return {word.rstrip("s") for word in re.findall(r"\w+", names)}
