"""All orders with known carts, by menu: what the reader learns from, is tuned on, and is scored with.

Split by menu, so that what is scored is never a menu that was learned. The sealed part is only ever scored:
nothing here prints its rows.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rapidfuzz.distance import Levenshtein

from schemas.cart import Line
from schemas.menu import Menu
from schemas.transcript import sentence
from services.decoding.menu_names import Names
from services.decoding.prompt import MenuContext
from services.learning.evaluation.word_errors import plain_words
from services.learning.training.notation import WrittenOrder, read_menu, read_orders
from services.retrieval.words import words

ROOT = Path(__file__).parents[3]
TOLD = ROOT / "tests" / "told"
JSON_MENUS = (ROOT / "infra/samples/menus", ROOT / "tests/spoken/menus", TOLD / "menus")
GOLDEN = ROOT / "tests" / "golden"
# Orders of two and three utterances, parted by a vertical bar, on menus of tests/told/taught.
TURNS = TOLD / "turns" / "train"
# What a recognizer made of some of them, spoken in noise by synthetic voices.
TRANSCRIPTS = TOLD / "taught" / "transcripts.jsonl"
# What two recognizers made of some of them, spoken in noise: `first` and `second`.
PAIRS = TOLD / "taught" / "pairs.jsonl"
# The customer's words for each wish off the menu in the orders that are learned from, in the cart's order.
OFF_MENU = TOLD / "taught" / "off_menu_words.jsonl"
# What the kitchen must know of orders that were written before notes were.
NOTES = TOLD / "taught" / "kitchen_notes.jsonl"
SAMPLES = ("harbor-coffee", "copper-skillet")
# Letters of tests/told that are only ever scored.
SCORED = frozenset("kqx")
# Menus of tests/told/taught that thresholds are tuned on and adapters chosen by, one of each writer.
TUNED = frozenset(json.loads((Path(__file__).parent / "split.json").read_text())["tune"])

MOST_WRONG = 0.25  # of the words of a spoken order

Part = Literal["train", "tune", "sealed", "held-out", "scored", "golden"]


@dataclass(frozen=True, slots=True)
class Row:
    """One order: which set it is of, what was said, the lines that are meant, without `heard`, and what a
    recognizer made of it, where it was spoken and nothing that counts was lost.

    Then the words of each wish off the menu ("" where they were not noted), what the kitchen must know beyond
    the lines as (kind, words), and pairs of transcripts by two recognizers, where one of them has the order.
    A row that is made of such a pair has the other transcript as `second`.
    """

    id: str
    source: str
    utterance: str
    lines: list[Line]
    transcript: str | None = None
    off_menu: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    second: str = ""


@dataclass(frozen=True, slots=True)
class TrainingShop:
    """A menu and its orders."""

    context: MenuContext
    rows: list[Row]

    @property
    def menu(self) -> Menu:
        return self.context.menu

    @property
    def names(self) -> Names:
        return self.context.names


def shops(part: Part) -> list[TrainingShop]:
    """The menus of one part, with their orders, in a fixed order."""
    if part == "sealed":
        return list(_written(TOLD / "sealed"))
    if part == "held-out":
        return list(_written(TOLD / "held_out"))
    if part == "tune":
        return [shop for shop in _written(TOLD / "taught") if shop.menu.id in TUNED]
    if part != "train":
        return list(_told(part))
    taught = [
        replace(shop, rows=[*shop.rows, *_turns(shop)])
        for shop in _written(TOLD / "taught")
        if shop.menu.id not in TUNED
    ]
    noted = _Noted()
    return [replace(shop, rows=list(map(noted.of, shop.rows))) for shop in (*taught, *_told(part))]


class _Noted:
    """What was added to orders after they were written, by the order and what was said."""

    def __init__(self) -> None:
        self._wishes = {_key(row): tuple(row["words"]) for row in _documents(OFF_MENU)}
        self._notes = {
            _key(row): tuple((kind, words) for kind, words in row["notes"]) for row in _documents(NOTES)
        }
        self._transcripts = {
            _key(row): row["heard"]
            for row in _documents(TRANSCRIPTS)
            if keeps_order(row["said"], row["heard"])
        }
        self._pairs: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for row in _documents(PAIRS):
            if any(row[which] and keeps_order(row["said"], row[which]) for which in ("first", "second")):
                self._pairs[_key(row)].append((row["first"], row["second"]))

    def of(self, row: Row) -> Row:
        """Return the row with all that is known of it."""
        key = row.id, row.utterance
        return replace(
            row,
            transcript=self._transcripts.get(key),
            off_menu=self._wishes.get(key, row.off_menu),
            notes=self._notes.get(key, row.notes),
            pairs=tuple(self._pairs.get(key, ())),
        )


def _documents(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["id"], row["said"]


def keeps_order(utterance: str, transcript: str) -> bool:
    """Return whether a transcript still has the order: few words wrong, hardly one left out, and
    every number there."""
    expected = plain_words(utterance)
    changes = Levenshtein.editops(expected, plain_words(transcript))
    left_out = sum(change.tag == "delete" for change in changes)
    if len(changes) > MOST_WRONG * len(expected) or left_out > 1:
        return False
    return _numbers(utterance) == _numbers(transcript)


def _numbers(text: str) -> Counter[str]:
    """How often each number is said, but for one, which is said in many ways ("a", "another one")."""
    return Counter(word.stem for word in words(text) if word.stem.isdecimal() and word.stem != "1")


def _written(folder: Path) -> Iterator[TrainingShop]:
    for file in sorted(folder.glob("*/*.orders")):
        menu = written_menu(file)
        orders, _ = read_orders(file, menu)
        source = f"{folder.name}/{file.parent.name}"
        rows = [_row(f"{menu.id}-{n}", source, order) for n, order in enumerate(orders)]
        yield TrainingShop(MenuContext(menu), rows)


def written_menu(orders: Path) -> Menu:
    """The menu of a file of orders: in the notation, or as JSON, which also says what is inside options.
    Raises Misspelt."""
    document = orders.with_suffix(".json")
    return (
        Menu.parse(json.loads(document.read_text()))
        if document.exists()
        else read_menu(orders.with_suffix(".menu"))
    )


def _turns(shop: TrainingShop) -> Iterator[Row]:
    """Orders of several utterances on a menu, each as it is served: a sentence each."""
    file = TURNS / f"{shop.menu.id}.orders"
    for n, order in enumerate(read_orders(file, shop.menu)[0] if file.exists() else ()):
        row = _row(f"{shop.menu.id}-t{n}", "turns", order)
        yield replace(row, utterance=" ".join(map(sentence, order.utterance.split(" | "))))


def _row(key: str, source: str, order: WrittenOrder) -> Row:
    """A row of an order as it was written, its wishes' words apart from its lines."""
    wishes = tuple(line.get("heard", "") for line in order.lines if not line.get("sku"))
    lines = [line.copy() for line in order.lines]
    for line in lines:
        line.pop("heard", None)
    off_menu = wishes if any(wishes) else ()
    return Row(key, source, order.utterance, lines, off_menu=off_menu, notes=order.notes)


def _told(part: Part) -> Iterator[TrainingShop]:
    menus = sorted(file for folder in JSON_MENUS for file in folder.glob("*.json"))
    for menu_file in menus:
        menu = Menu.parse(json.loads(menu_file.read_text()))
        rows = [row for file, source in _files(menu.id, part) for row in _rows(file, source)]
        if rows or part == "train":
            yield TrainingShop(MenuContext(menu), rows)


def _files(menu: str, part: Part) -> Iterator[tuple[Path, str]]:
    """The files with a menu's orders of a part, and what they are called."""
    for file in sorted(TOLD.glob(f"{menu}-?.jsonl")):
        letter = file.stem[-1]
        if part != "golden" and (letter in SCORED) == (part == "scored"):
            yield file, f"told/{letter}"
    if menu in SAMPLES and part != "scored":
        half = "tuned" if part == "train" else "sealed"
        yield GOLDEN / f"{menu}-{half}.jsonl", f"golden/{half}"


def _rows(file: Path, source: str) -> Iterator[Row]:
    for row in _documents(file):
        if row.get("utterance"):
            yield Row(row["id"], source, row["utterance"], row["cart"]["lines"])


def generated(shop: TrainingShop, number: int, seed: int) -> list[Row]:
    """Orders that a generator says, their carts right by construction (`tests/spoken`)."""
    from tests.spoken.speaker import Speaker

    dice = random.Random(f"{seed} {shop.menu.id}")  # noqa: S311 - repeatable draws, no secret
    rows = []
    for n in range(number):
        try:
            said, lines = Speaker(shop.menu, dice).order()
        except (IndexError, ValueError):  # a menu without what the generator wants to say
            continue
        rows.append(Row(f"{shop.menu.id}-g{n}", "generated", said, lines))
    return rows
