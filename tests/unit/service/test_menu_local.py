"""What is a shop's own of its chain's menu: what makes one of the other, and what it may not be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InvalidMenu
from schemas.menu import Item, Menu, Option
from schemas.shops.menu_local import Local, Mark
from tests.stand_ins import CAFE

PRICES = st.integers(0, 10_000)


@st.composite
def shops_menus(draw: st.DrawFn) -> Menu:
    """The café's menu as a shop may have it: prices and availability of some parts are others."""

    def own(part: Any) -> Any:
        update: dict[str, Any] = {"available": draw(st.booleans())}
        if isinstance(part, Item) and part.prices:
            update["prices"] = {size: draw(st.just(p) | PRICES) for size, p in part.prices.items()}
        else:
            update["price"] = draw(st.just(part.price) | PRICES)
        return part.model_copy(update=update)

    groups = tuple(
        group.model_copy(update={"options": tuple(own(option) for option in group.options)})
        for group in CAFE.option_groups
    )
    return CAFE.model_copy(update={"items": tuple(own(item) for item in CAFE.items), "option_groups": groups})


@given(shops_menus())
def test_marks_make_the_shops_menu_of_the_chains_also_after_they_were_stored(own: Menu) -> None:
    local = Local.of(CAFE, own)
    stored = Local.model_validate_json(local.model_dump_json(exclude_defaults=True))
    assert stored.on(CAFE) == own
    assert not stored.unused(CAFE)


def test_only_what_differs_is_kept_and_the_rest_is_the_chains_own_objects() -> None:
    sold_out = CAFE.items[0].model_copy(update={"available": False})
    local = Local.of(CAFE, CAFE.model_copy(update={"items": (sold_out, *CAFE.items[1:])}))
    assert local == Local(items={sold_out.sku: Mark(available=False)})
    made = local.on(CAFE)
    assert all(ours is theirs for ours, theirs in zip(made.items[1:], CAFE.items[1:], strict=True))
    assert Local.of(CAFE, CAFE) == Local()
    assert Local().on(CAFE) is CAFE


def changed(**update: Any) -> Menu:
    return CAFE.model_copy(update=update)


ITEM = CAFE.items[0]
SIZED = next(item for item in CAFE.items if item.prices)


@pytest.mark.parametrize(
    ("own", "pointer"),
    [
        (changed(name="Another"), "/name"),
        (changed(currency="EUR"), "/currency"),
        (changed(items=CAFE.items[1:]), f"/items/{ITEM.sku}"),
        (changed(items=CAFE.items[::-1]), "/items"),
        (
            changed(items=(ITEM.model_copy(update={"name": "another"}), *CAFE.items[1:])),
            f"/items/{ITEM.sku}/name",
        ),
        (
            changed(items=(*CAFE.items, Item(sku="extra", name="something extra", price=1))),
            "/items/extra",
        ),
        (
            changed(
                items=tuple(
                    i.model_copy(update={"prices": None, "price": 1}) if i is SIZED else i for i in CAFE.items
                )
            ),
            f"/items/{SIZED.sku}/prices",
        ),
    ],
)
def test_more_than_marks_can_say_is_refused_with_where_it_is(own: Menu, pointer: str) -> None:
    with pytest.raises(InvalidMenu) as refused:
        Local.of(CAFE, own)
    assert pointer in [where for where, _ in refused.value.problems]


def test_a_mark_that_fits_no_more_changes_nothing_and_is_named() -> None:
    sized, plain = SIZED, next(item for item in CAFE.items if item.price is not None)
    group = CAFE.option_groups[0]
    local = Local(
        items={
            "gone": Mark(price=1),
            sized.sku: Mark(price=1),
            plain.sku: Mark(prices={"XXL": 1}, available=False),
        },
        options={group.id: {"gone": Mark(price=1)}, "gone": {"gone": Mark(price=1)}},
    )
    made = local.on(CAFE)
    assert made.item(sized.sku) == sized
    assert made.item(plain.sku) == plain.model_copy(update={"available": False})
    assert made.option_groups == CAFE.option_groups
    assert [where for where, _ in local.unused(CAFE)] == [
        "/items/gone",
        f"/items/{sized.sku}",
        f"/items/{plain.sku}",
        f"/option_groups/{group.id}/options/gone",
        "/option_groups/gone/options/gone",
    ]


def test_what_is_made_passes_every_check_of_an_import() -> None:
    option: Option = CAFE.option_groups[0].options[0]
    local = Local(
        items={SIZED.sku: Mark(prices={SIZED.size_ids[0]: 7})},
        options={CAFE.option_groups[0].id: {option.id: Mark(price=9, available=False)}},
    )
    made = local.on(CAFE)
    assert Menu.parse(made.model_dump(mode="json", exclude_none=True)) == made
