"""Orders with known carts, by menu: the sets for training, tuning and scoring.

They are split by menu, so that scores are on menus that were not trained on. The sealed part is only scored:
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
ORDER_SETS = ROOT / "tests" / "orders"
JSON_MENUS = (ROOT / "infra/samples/menus", ROOT / "tests/spoken/menus", ORDER_SETS / "menus")
GOLDEN = ROOT / "tests" / "golden"
# Orders of two and three utterances, separated by a vertical bar, on menus of tests/orders/train.
TURNS = ORDER_SETS / "multi_turn" / "train"
# Transcripts of some of them, spoken in noise by synthetic voices.
TRANSCRIPTS = ORDER_SETS / "train" / "transcripts.jsonl"
# Transcripts of some of them by two recognizers: `first` and `second`.
PAIRS = ORDER_SETS / "train" / "pairs.jsonl"
# The customer's words for each off-menu request in the training orders, in the cart's order.
OFF_MENU = ORDER_SETS / "train" / "off_menu_words.jsonl"
# Notes to the kitchen of orders that were written before notes existed.
NOTES = ORDER_SETS / "train" / "kitchen_notes.jsonl"
SAMPLES = ("harbor-coffee", "copper-skillet")
# Letters of tests/orders that are only scored.
SCORED = frozenset("kqx")
# Menus of tests/orders/train for choosing thresholds and adapters, one by each writer.
TUNED = frozenset(json.loads((Path(__file__).parent / "split.json").read_text())["tune"])

MAX_WORD_ERRORS = 0.25  # of the words of a spoken order

Part = Literal["train", "tune", "sealed", "held-out", "scored", "golden"]


@dataclass(frozen=True, slots=True)
class Row:
    """One order: its set, the utterance, the expected lines without `heard`, and a recognizer's transcript if
    it was spoken and the transcript still has the whole order.

    Then the words of each off-menu request ("" if unknown), notes as (kind, words), and pairs of transcripts
    by two recognizers, at least one of which has the whole order. A row made from such a pair has the other
    transcript as `second`.
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
    """Return the menus of a part with their orders, always in the same order."""
    if part == "sealed":
        return list(_written(ORDER_SETS / "sealed"))
    if part == "held-out":
        return list(_written(ORDER_SETS / "held_out"))
    if part == "tune":
        return [shop for shop in _written(ORDER_SETS / "train") if shop.menu.id in TUNED]
    if part != "train":
        return list(_from_json(part))
    written = [
        replace(shop, rows=[*shop.rows, *_turns(shop)])
        for shop in _written(ORDER_SETS / "train")
        if shop.menu.id not in TUNED
    ]
    extras = _Extras()
    return [replace(shop, rows=list(map(extras.add, shop.rows))) for shop in (*written, *_from_json(part))]


class _Extras:
    """Data added to orders after they were written, by id and utterance."""

    def __init__(self) -> None:
        self._off_menu = {_key(row): tuple(row["words"]) for row in _documents(OFF_MENU)}
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

    def add(self, row: Row) -> Row:
        """Return the row with its transcripts, off-menu words and notes."""
        key = row.id, row.utterance
        return replace(
            row,
            transcript=self._transcripts.get(key),
            off_menu=self._off_menu.get(key, row.off_menu),
            notes=self._notes.get(key, row.notes),
            pairs=tuple(self._pairs.get(key, ())),
        )


def _documents(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["id"], row["said"]


def keeps_order(utterance: str, transcript: str) -> bool:
    """Return True if a transcript still has the order: few wrong words, at most one missing, and every
    number."""
    expected = plain_words(utterance)
    changes = Levenshtein.editops(expected, plain_words(transcript))
    missing = sum(change.tag == "delete" for change in changes)
    if len(changes) > MAX_WORD_ERRORS * len(expected) or missing > 1:
        return False
    return _numbers(utterance) == _numbers(transcript)


def _numbers(text: str) -> Counter[str]:
    """Count each number, except one, which has many forms ("a", "another one")."""
    return Counter(word.stem for word in words(text) if word.stem.isdecimal() and word.stem != "1")


def _written(folder: Path) -> Iterator[TrainingShop]:
    for file in sorted(folder.glob("*/*.orders")):
        menu = written_menu(file)
        orders, _ = read_orders(file, menu)
        source = f"{folder.name}/{file.parent.name}"
        rows = [_row(f"{menu.id}-{n}", source, order) for n, order in enumerate(orders)]
        yield TrainingShop(MenuContext(menu), rows)


def written_menu(orders: Path) -> Menu:
    """Return the menu of an orders file, from JSON (which can have nested options) or the notation. Raises
    NotationError."""
    document = orders.with_suffix(".json")
    return (
        Menu.parse(json.loads(document.read_text()))
        if document.exists()
        else read_menu(orders.with_suffix(".menu"))
    )


def _turns(shop: TrainingShop) -> Iterator[Row]:
    """Yield a menu's orders of several utterances, joined as sentences, as the service does."""
    file = TURNS / f"{shop.menu.id}.orders"
    for n, order in enumerate(read_orders(file, shop.menu)[0] if file.exists() else ()):
        row = _row(f"{shop.menu.id}-t{n}", "turns", order)
        yield replace(row, utterance=" ".join(map(sentence, order.utterance.split(" | "))))


def _row(key: str, source: str, order: WrittenOrder) -> Row:
    """Return a row of a written order, with the words of off-menu requests moved out of its lines."""
    words = tuple(line.get("heard", "") for line in order.lines if not line.get("sku"))
    lines = [line.copy() for line in order.lines]
    for line in lines:
        line.pop("heard", None)
    off_menu = words if any(words) else ()
    return Row(key, source, order.utterance, lines, off_menu=off_menu, notes=order.notes)


def _from_json(part: Part) -> Iterator[TrainingShop]:
    menus = (file for folder in JSON_MENUS for file in sorted(folder.glob("*.json")))
    for menu_file in menus:
        menu = Menu.parse(json.loads(menu_file.read_text()))
        rows = [row for file, source in _files(menu.id, part) for row in _rows(file, source)]
        if rows or part == "train":
            yield TrainingShop(MenuContext(menu), rows)


def _files(menu: str, part: Part) -> Iterator[tuple[Path, str]]:
    """Yield the files with a menu's orders of a part, and the names of their sources."""
    for file in sorted(ORDER_SETS.glob(f"{menu}-?.jsonl")):
        letter = file.stem[-1]
        if part != "golden" and (letter in SCORED) == (part == "scored"):
            yield file, f"orders/{letter}"
    if menu in SAMPLES and part != "scored":
        half = "tuned" if part == "train" else "sealed"
        yield GOLDEN / f"{menu}-{half}.jsonl", f"golden/{half}"


def _rows(file: Path, source: str) -> Iterator[Row]:
    for row in _documents(file):
        if row.get("utterance"):
            yield Row(row["id"], source, row["utterance"], row["cart"]["lines"])


def generated(shop: TrainingShop, number: int, seed: int) -> list[Row]:
    """Generate orders whose carts are right by construction (`tests/spoken`)."""
    from tests.spoken.speaker import Speaker

    dice = random.Random(f"{seed} {shop.menu.id}")  # noqa: S311 - repeatable draws, no secret
    rows = []
    for n in range(number):
        try:
            said, lines = Speaker(shop.menu, dice).order()
        except (IndexError, ValueError):  # the menu lacks what the generator needs
            continue
        rows.append(Row(f"{shop.menu.id}-g{n}", "generated", said, lines))
    return rows
