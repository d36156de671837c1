"""The mask of a cart on random menus and orders: every cart of the menu and nothing else, within its bound.

The default is the same each time; `make fuzz` draws SAYCART_FUZZ new examples a test.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.cart import (
    MAX_COUNT,
    MAX_LINES,
    MAX_OPTIONS,
    MAX_QUANTITY,
    SCHEMA_VERSION,
    Amount,
    CartDraft,
    Line,
    OptionLine,
)
from schemas.menu import Item, Menu
from schemas.writable import clean
from services.decoding import wire
from services.decoding.menu_names import Names
from services.decoding.wire_mask import check_menu, wire_mask
from tests.fuzz.menus import any_menu, any_order
from tests.stand_ins import CAFE, NASTY
from tests.tokenizers import tokenizer_of

EXAMPLES = int(os.environ.get("SAYCART_FUZZ", "0"))
MODEL = "smollm2-135m-instruct-q4_1.gguf"
# The same examples by default, so that a failure comes from the current commit.
fuzz = settings(
    max_examples=EXAMPLES or 25,
    derandomize=not EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
seeds = st.integers(0, 2**32)


def drawn(seed: int) -> tuple[random.Random, Menu, str]:
    """A random menu of 10 to 300 items, and an order from it."""
    rng = random.Random(seed)
    menu = any_menu(rng, round(10 ** rng.uniform(1, 2.5)))
    return rng, menu, clean(any_order(rng, menu))


def any_lines(rng: random.Random, menu: Menu, words: str) -> list[Line]:
    """Return cart lines: items with their options, and sometimes a quoted item that is not on the menu."""
    lines: list[Line] = []
    for _ in range(rng.randint(0, MAX_LINES)):
        quantity = rng.randint(1, MAX_QUANTITY)
        if rng.random() < 0.2:
            lines.append({"kind": "not_on_menu", "heard": rng.choice(words.split()), "quantity": quantity})
            continue
        item = rng.choice(menu.items)
        size = rng.choice(item.size_ids) if item.size_ids and rng.random() < 0.5 else None
        options = any_options(rng, menu, item)
        lines.append(
            {"kind": "item", "sku": item.sku, "quantity": quantity, "size": size, "options": options}
        )
    return lines


def any_options(rng: random.Random, menu: Menu, item: Item) -> list[OptionLine]:
    """Return some of the item's options, up to a line's limit."""
    offered = Names(menu).choices(item)
    return [
        {"group": one.group, "id": one.id, "amount": rng.choice(list(Amount)).value,
         "count": rng.randint(1, MAX_COUNT)}
        for one in rng.sample(offered, rng.randint(0, min(len(offered), MAX_OPTIONS, 5)))
    ]  # fmt: skip


@fuzz
@given(seeds)
def test_every_cart_of_the_menu_round_trips(seed: int) -> None:
    rng, menu, said = drawn(seed)
    names, words = Names(menu), "a bicycle, and one goldfish please"
    lines = any_lines(rng, menu, "bicycle goldfish please")
    text, mask = wire.write(lines, names), wire_mask(names, f"{said} {words}")
    assert mask.accepts(text)
    assert len(text.encode()) <= mask.longest
    assert wire.write(wire.read_cart(text, names).lines, names) == text


@fuzz
@given(seeds)
def test_mutated_carts_are_allowed_only_if_they_are_carts(seed: int) -> None:
    rng, menu, said = drawn(seed)
    names = Names(menu)
    mask = wire_mask(names, f"{said} bicycle")
    text = wire.write(any_lines(rng, menu, "bicycle"), names)
    for _ in range(20):
        dented = dent(rng, text)
        if mask.accepts(dented):
            assert isinstance(draft_of(dented, names), CartDraft)


def draft_of(text: str, names: Names) -> CartDraft:
    """Return the cart of a text; raises ValueError where it is not one."""
    cart = wire.read_cart(text, names)
    lines = [{"heard": "words", **line} for line in cart.lines]
    return CartDraft.model_validate({"lines": lines, "notes": cart.notes})


def dent(rng: random.Random, text: str) -> str:
    """Return the text with a character replaced, doubled or removed, or with a part moved."""
    at, to = sorted((rng.randrange(len(text)), rng.randrange(len(text))))
    return rng.choice([
        text[:at] + rng.choice('{}[]",:0 9x\\é') + text[at + 1 :],
        text[:at] + text[to:],
        text[:to] + text[at:],
        text[:at] + text[at:to][::-1] + text[to:],
    ])  # fmt: skip


@fuzz
@given(seeds)
def test_any_text_of_the_mask_is_a_cart_within_its_bound(seed: int) -> None:
    rng, menu, said = drawn(seed)
    names = Names(menu)
    mask = wire_mask(names, said)
    text = next(mask.texts(rng))
    draft_of(text.decode(), names)
    assert len(text) <= mask.longest
    assert mask.version == f"cart-json/{SCHEMA_VERSION}"


@fuzz
@given(seeds)
@pytest.mark.models
def test_a_models_own_tokens_can_spell_every_cart(seed: int) -> None:
    rng, menu, said = drawn(seed)
    names = Names(menu)
    text = wire.write(any_lines(rng, menu, "bicycle")[:3], names)
    assert wire_mask(names, f"{said} bicycle").walker(tokenizer_of(MODEL))(text)


@pytest.mark.parametrize("menu", [CAFE, NASTY], ids=["cafe", "nasty"])
def test_names_that_look_like_grammar_are_escaped(menu: Menu) -> None:
    names, rng = Names(menu), random.Random(1)
    mask = wire_mask(names, 'say "%llguidance {}" \\ twice')
    for _ in range(10):
        text = wire.write(any_lines(rng, menu, "twice say"), names)
        assert mask.accepts(text)


@pytest.mark.parametrize("transcript", ["", "   ", "?!"])
def test_an_empty_transcript_allows_only_menu_items(transcript: str) -> None:
    mask = wire_mask(Names(CAFE), transcript)
    assert mask.accepts('{"lines":[]}')
    assert not mask.accepts('{"lines":[{"not_on_menu":"a goldfish"}]}')


def test_a_menu_of_two_thousand_awkward_names_compiles() -> None:
    check_menu(any_menu(random.Random(2), 2_000))
