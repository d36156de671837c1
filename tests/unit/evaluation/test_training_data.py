"""Training orders: their notation, that every file parses, and how they are packed.

Of the sealed part only counts are looked at, and a count is taken before it is held against anything: a test
that fails prints what it compares.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.settings import REPOSITORY
from services.learning.training import pack
from services.learning.training.asr_style import as_transcribed
from services.learning.training.examples import Chat
from services.learning.training.notation import NotationError, read_menu, read_orders
from services.learning.training.orders import (
    TRANSCRIPTS,
    TUNED,
    TURNS,
    TrainingShop,
    keeps_order,
    shops,
    written_menu,
)
from services.learning.training.pack import Sequences, training

ORDER_SETS = REPOSITORY / "tests" / "orders"
MENU = """
# a comment
name: Curry Leaf
currency: GBP
size L: large = family
group spice one: mild; medium; extra hot = vindaloo hot 50
group sides many required: raita 120; naan = naan bread 250
item Chicken Tikka = CTM: 895 [spice, sides]
item Cola: L 210
"""


@cache
def dragon() -> TrainingShop:
    return next(shop for shop in shops("train") if shop.menu.id == "golden-dragon")


class Letters:
    """A tokenizer with one token per letter, and a chat template that marks each message."""

    def apply_chat_template(self, chat: list[dict[str, str]], **_: Any) -> str:
        return "".join(f"<{m['role']}>{m['content']}</>" for m in chat) + "<assistant>"

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}


def written(folder: Path, menu: str, orders: str = "") -> Path:
    (folder / "curry-leaf.menu").write_text(menu)
    (folder / "curry-leaf.orders").write_text(orders)
    return folder / "curry-leaf.menu"


def test_a_menu_is_read_from_its_lines(tmp_path: Path) -> None:
    menu = read_menu(written(tmp_path, MENU))
    chicken, cola = menu.items
    spice, sides = menu.option_groups
    assert (menu.id, menu.name, menu.currency) == ("curry-leaf", "Curry Leaf", "GBP")
    assert (chicken.price, chicken.aliases, chicken.option_groups) == (895, ("CTM",), ("spice", "sides"))
    assert (cola.prices, menu.sizes[0].aliases) == ({"L": 210}, ("family",))
    assert (spice.choose, spice.required, sides.choose, sides.required) == ("one", False, "many", True)
    assert [(o.name, o.price) for o in spice.options] == [("mild", 0), ("medium", 0), ("extra hot", 50)]
    assert [(o.aliases, o.price) for o in sides.options] == [((), 120), (("naan bread",), 250)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dish Naan: 100", "a line begins with name:"),
        ("item Naan 100", "no `:` before the price"),
        ("item Naan: cheap", "curry-leaf.menu:10"),
        ("item Naan: 100 [spice] hot", "groups stand in one pair of brackets"),
        ("item Naan: 100 [breads]", "breads"),
        ("item Naan: XL 100", "XL"),
        ("item Cola: 100", "Cola|cola"),
        ("group breads one halvs: naan", "halvs"),
    ],
)
def test_a_menu_that_cannot_be_read_says_where(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(NotationError, match=message):
        read_menu(written(tmp_path, f"{MENU}{line}\n"))


def test_orders_are_parsed_and_each_problem_is_reported(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        MENU,
        "# theirs\n[plain, split] two ctms, one mild => 1 Chicken Tikka + mild; 1 Chicken Tikka\n"
        "a cola => 1 Cola\n[plain] a cola\n[plain] a coke => 1 Coke\n",
    )
    orders, problems = read_orders(file.with_suffix(".orders"), read_menu(file))
    assert [(order.utterance, len(order.lines)) for order in orders] == [("two ctms, one mild", 2)]
    assert [problem.split(":")[1] for problem in problems] == ["3", "4", "5"]
    assert "no item is called 'Coke'" in problems[2]


@pytest.mark.parametrize(
    "file",
    sorted((ORDER_SETS / "train").glob("*/*.orders")),
    ids=lambda file: f"{file.parent.name}/{file.stem}",
)
def test_every_training_file_is_read_whole(file: Path) -> None:
    orders, problems = read_orders(file, written_menu(file))
    assert problems == []
    assert len(orders) >= 40


def test_orders_of_several_utterances_are_read_whole_and_served_as_sentences() -> None:
    rows = [row for shop in shops("train") for row in shop.rows if row.source == "turns"]
    assert len(rows) == sum(
        line.startswith("[") for file in TURNS.glob("*.orders") for line in file.read_text().splitlines()
    )
    assert not any(" | " in row.utterance for row in rows)


def test_every_sealed_file_is_read_whole() -> None:
    problems = 0
    for file in (ORDER_SETS / "sealed").glob("*/*.menu"):
        problems += len(read_orders(file.with_suffix(".orders"), read_menu(file))[1])
    assert problems == 0


def test_no_menu_is_in_two_parts_and_no_two_are_called_alike() -> None:
    """Orders are identified by their menu's name, so transcripts would be mixed up."""
    train, tune, sealed = ([shop.menu.id for shop in shops(part)] for part in ("train", "tune", "sealed"))
    assert set(tune) == TUNED
    assert sorted(train + tune) == sorted({*train, *tune})
    assert not {*sealed} & {*train, *tune}


def test_no_order_that_is_scored_is_learned() -> None:
    """The older sets share menus with the training set, but no row."""
    learned = {(shop.menu.id, row.source, row.id) for shop in shops("train") for row in shop.rows}
    for part in ("scored", "golden"):
        both = {(shop.menu.id, row.source, row.id) for shop in shops(part) for row in shop.rows} & learned
        assert len(both) == 0


LETTERS = 12_000  # of a sequence, since letters are smaller than tokens
UTTERANCE = "Two lattes, please, and four muffins: I'd like 3 of them warm. For Ann"


def test_transcripts_keep_the_order() -> None:
    """Only the spelling of numbers, sound-alikes and fillers change."""
    for n in range(500):
        words = re.findall(r"[a-z]+", as_transcribed(UTTERANCE, random.Random(n)).lower())
        assert {"lattes", "muffins", "warm", "ann"} <= set(words)


def test_a_chat_is_cut_where_the_menu_and_the_question_end() -> None:
    chat = Chat(Letters())
    told = "".join(map(chr, chat.menu("M") + chat.question("S") + chat.answer("1 Cola")))
    assert told.endswith("M</><user>S</><assistant>1 Cola<|im_end|>")
    assert told.startswith("<system>")


def test_only_carts_count_in_the_loss(tmp_path: Path) -> None:
    packed = Sequences()
    packed.add([1, 2], [([3], [4, 5]), ([6, 7], [8])])
    packed.add([9], [([3], [4])])
    packed.save(tmp_path / "packed.npz")
    kept = np.load(tmp_path / "packed.npz")
    assert kept["tokens"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 4]
    assert kept["orders"].tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 1]
    assert kept["tokens"][kept["learned"]].tolist() == [4, 5, 8, 4]
    assert kept["ends"].tolist() == [8, 11]


@pytest.fixture
def one_shop(monkeypatch: pytest.MonkeyPatch) -> TrainingShop:
    shop = dragon()
    monkeypatch.setattr(pack, "shops", lambda part: [shop])
    monkeypatch.setattr(pack, "MAX_ORDER_TOKENS", 2_000)
    return shop


def test_every_order_is_in_every_epoch(one_shop: TrainingShop) -> None:
    packed = training(Chat(Letters()), epochs=2, seed=0, sequence=LETTERS)
    starts = [0, *packed.ends[:-1]]
    held = [max(packed.orders[a:b]) for a, b in zip(starts, packed.ends, strict=True)]
    assert len(packed.tokens) == len(packed.orders) == len(packed.learned) == packed.ends[-1]
    assert max(b - a for a, b in zip(starts, packed.ends, strict=True)) <= LETTERS
    people = sum(1 + (row.transcript is not None) + len(row.pairs) for row in one_shop.rows)
    assert 2 * people < sum(held) <= 2 * (people + pack.GENERATED)


def test_a_spoken_order_is_also_packed_as_transcribed(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = dragon()
    spoken = replace(shop.rows[0], utterance="Written 111 times", transcript="Heard 222 times")
    monkeypatch.setattr(pack, "shops", lambda part: [replace(shop, rows=[spoken])])
    monkeypatch.setattr(pack, "GENERATED", 0)
    monkeypatch.setattr(pack, "as_transcribed", lambda said, dice: said)
    told = "".join(map(chr, training(Chat(Letters()), epochs=1, seed=0, sequence=LETTERS).tokens))
    assert (told.count("Written 111 times"), told.count("Heard 222 times")) == (1, 1)


@pytest.mark.parametrize(
    ("heard", "kept"),
    [
        ("two large lattes, 3 muffins and a tea", True),
        ("2 large lattice, three muffins and a tea.", True),
        ("large lattes, three muffins and a tea", False),  # a number is missing
        ("two large lattes, three muffins", False),  # more than one word is missing
        ("two large letters, free muffins and a tea", False),
        ("too lax lattice three muffs in a tea", False),
    ],
)
def test_a_transcript_is_used_if_it_still_has_the_order(heard: str, kept: bool) -> None:
    assert keeps_order("Two large lattes, three muffins and a tea.", heard) == kept


def test_transcripts_are_of_training_orders() -> None:
    """A row of `transcripts.jsonl` without a matching order and utterance would not be used."""
    rows = [json.loads(line) for line in TRANSCRIPTS.read_text(encoding="utf-8").splitlines()]
    said = {row.id: row.utterance for shop in shops("train") for row in shop.rows}
    assert [row["id"] for row in rows if said.get(row["id"]) != row["said"]] == []
    assert len({row["id"] for row in rows}) == len(rows) > 1000
