"""What the words of an order leave, and a cart in one line: `2 latte L oat, no foam; 1 quiche`.

Each line is quantity, item, size where it has one, and options with their amount and count where those are
not normal and one. Items, sizes and options stand by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from infra.settings import REPOSITORY
from schemas.cart import Amount, CartDraft, ItemLine, OptionDraft
from schemas.evidence import Evidence, LineEvidence
from schemas.menu import Menu
from services.checks.one_cart import undoubted_cart

_TESTS = REPOSITORY / "tests"
# Every menu that orders were written for, by id: the shipped ones and those of the tests.
MENUS = {
    file.stem: Menu.parse(json.loads(file.read_text(encoding="utf-8")))
    for folder in (REPOSITORY / "infra/samples/menus", _TESTS / "spoken/menus", _TESTS / "told/menus")
    for file in sorted(folder.glob("*.json"))
}
_PREFIX = {Amount.NORMAL: "", Amount.NONE: "no "}


def only_cart(evidence: Evidence) -> list[dict[str, Any]] | None:
    """The one cart that the words leave; None where they leave anything open, or the cart is in doubt."""
    draft = undoubted_cart(evidence)
    return None if draft is None else draft.model_dump(mode="json")["lines"]


def in_short(lines: Iterable[dict[str, Any]]) -> str:
    """A draft's lines, as `only_cart` gives them, in one line."""
    return "; ".join(
        _line(
            line["quantity"],
            line["sku"],
            line["size"],
            [(Amount(option["amount"]), option["count"], option["id"]) for option in line["options"]],
        )
        for line in lines
    )


def left_in_short(evidence: Evidence) -> str:
    """The cart that the words leave, in doubt or not, in one line; of what is open, the likeliest."""
    return "; ".join(
        _line(
            line.quantities[0],
            line.items[0],
            next(iter(line.sizes), None),
            [(option.amounts[0], option.counts[0], option.id) for option in line.options],
        )
        for line in evidence.lines
    )


def all_said(evidence: Evidence) -> CartDraft:
    """The cart that takes everything said; where the words leave one cart, that one."""
    return CartDraft(lines=tuple(_whole_line(place, evidence.menu) for place in evidence.lines))


def _line(quantity: int, item: str, size: str | None, options: list[tuple[Amount, int, str]]) -> str:
    shown = ", ".join(
        f"{_PREFIX.get(amount, f'{amount.value} ')}{f'{count} ' if count > 1 else ''}{name}"
        for amount, count, name in options
    )
    return " ".join(part for part in (f"{quantity} {item}", size, shown) if part)


def _whole_line(place: LineEvidence, menu: Menu) -> ItemLine:
    item = menu.item(place.items[0])
    offered = item.option_groups if item is not None else ()
    return ItemLine(
        kind="item",
        heard=place.region[:100],
        sku=place.items[0],
        quantity=place.quantities[-1],
        size=next((size for size in place.sizes if item is not None and size in item.size_ids), None),
        options=tuple(
            OptionDraft(group=o.group, id=o.id, amount=o.amounts[-1], count=o.counts[-1])
            for o in place.options[:8]
            if o.group in offered
        ),
    )
