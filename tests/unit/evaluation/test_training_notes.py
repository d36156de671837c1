"""Training data besides lines: halves, off-menu words, notes, and pairs of transcripts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from services.decoding import wire
from services.decoding.prompt import MenuContext
from services.decoding.wire_mask import wire_mask
from services.learning.training import orders, pack
from services.learning.training.examples import Chat, UnusableOrder, notes_in, with_words
from services.learning.training.notation import read_menu, read_orders
from services.learning.training.orders import Row, TrainingShop
from services.learning.training.pack import training
from tests.unit.evaluation.test_training_data import LETTERS, Letters, written

MENU = """
name: Slice
currency: USD
group toppings many halves: ham 100; corn; extra cheese 50; cheese; left wing
group crust one required: thin; thick
item Pizza: 900 [toppings, crust]
"""
SAID = "A pizza, half ham, half corn, and a Taco. I'm allergic to nuts, cut it in half"


@pytest.mark.parametrize(
    ("option", "key", "amount", "portion"),
    [
        ("left ham", "ham", "normal", "left"),
        ("Right corn", "corn", "normal", "right"),
        ("left extra cheese", "extra-cheese", "normal", "left"),
        ("left wing", "left-wing", "normal", "whole"),
        ("left no cheese", "cheese", "none", "left"),
        ("right extra ham x2", "ham", "extra", "right"),
    ],
)
def test_an_option_may_be_for_one_half(
    option: str, key: str, amount: str, portion: str, tmp_path: Path
) -> None:
    file = written(tmp_path, MENU, f"[halves] a pizza => 1 Pizza + {option}")
    (order,), problems = read_orders(file.with_suffix(".orders"), read_menu(file))
    (chosen,) = order.lines[0]["options"]
    assert (problems, chosen["id"], chosen["amount"]) == ([], key, amount)
    assert chosen.get("portion", "whole") == portion


@pytest.mark.parametrize(
    ("cart", "message"),
    [
        ("1 Pizza + left thin", "without `halves`"),
        ("1 Pizza + left pineapple", "no option of Pizza is called"),
        ("1 ? tacos", "not in the utterance"),
        ("1 Pizza // allergy: nuts and bolts", "not in the utterance"),
        ("1 Pizza // mood: nuts", "not `KIND: words`"),
    ],
)
def test_an_impossible_cart_is_reported(cart: str, message: str, tmp_path: Path) -> None:
    file = written(tmp_path, MENU, f"[off] {SAID} => {cart}")
    _, (problem,) = read_orders(file.with_suffix(".orders"), read_menu(file))
    assert message in problem


def shop_of(folder: Path) -> TrainingShop:
    (folder / "a").mkdir()
    written(
        folder / "a",
        MENU,
        f"[off] {SAID} => 1 Pizza + left ham + right corn; 1 ? taco // allergy: I'm allergic to nuts"
        " // preparation: cut it in half\n[off] a taco => 1 ?",
    )
    (shop,) = orders._written(folder)
    return shop


def test_a_written_order_is_spelled_with_its_words_as_they_stand(tmp_path: Path) -> None:
    shop = shop_of(tmp_path)
    row = shop.rows[0]
    assert (row.off_menu, shop.rows[1].off_menu) == (("taco",), ())
    heard = SAID.replace("I'm", "i’m")
    text = wire.write(with_words(row, heard, (), shop), shop.names, notes_in(row, heard))
    assert json.loads(text) == {
        "lines": [
            {"item": "Pizza", "options": [_half("ham", "left"), _half("corn", "right")]},
            {"not_on_menu": "Taco"},
        ],
        "notes": [{"allergy": "i’m allergic to nuts"}, {"preparation": "cut it in half"}],
    }
    assert wire_mask(shop.names, heard).accepts(text)


def _half(option: str, portion: str) -> dict[str, str]:
    return {"option": option, "portion": portion}


def test_a_missing_or_untranscribed_note_excludes_the_order(tmp_path: Path) -> None:
    row = shop_of(tmp_path).rows[0]
    with pytest.raises(UnusableOrder):
        notes_in(row, SAID.replace("nuts", "notes"))
    with pytest.raises(UnusableOrder, match="without a note"):
        notes_in(replace(row, notes=()), SAID)


PAIRS = [
    {"id": "slice-1", "said": "two tacos", "first": "two tacos", "second": "Two tacos."},
    {"id": "slice-1", "said": "two tacos", "first": "to talk was", "second": "two tacos"},
    {"id": "slice-1", "said": "two tacos", "first": "talk", "second": "walk"},
    {"id": "slice-1", "said": "something else", "first": "something else", "second": ""},
]


def test_one_transcript_of_a_pair_has_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, PAIRS)))
    monkeypatch.setattr(orders, "PAIRS", file)
    row = Row("slice-1", "train/a", "two tacos", [])
    assert orders._Extras().add(row).pairs == (("two tacos", "Two tacos."), ("to talk was", "two tacos"))
    monkeypatch.setattr(orders, "PAIRS", tmp_path / "none.jsonl")
    assert orders._Extras().add(row) == row


def test_pairs_are_packed_in_either_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    menu = read_menu(written(tmp_path, MENU))
    row = Row(
        "slice-1", "a", "one pizza", [{"sku": "pizza", "quantity": 1}], pairs=(("A pizza", "Apis, ah"),) * 60
    )
    monkeypatch.setattr(pack, "shops", lambda part: [TrainingShop(MenuContext(menu), [row])])
    monkeypatch.setattr(pack, "GENERATED", 0)
    packed = training(Chat(Letters()), epochs=1, seed=0, sequence=LETTERS)
    told = "".join(map(chr, packed.tokens))
    straight, swapped = told.count("A pizza\nOr: Apis, ah"), told.count("Apis, ah\nOr: A pizza")
    assert straight + swapped == 60
    assert 8 < swapped < 32
