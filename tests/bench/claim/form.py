"""The order as the claim's old pipeline wrote it: a quantity, a size code, options from a list, and the item
in free words. One prompt for all three ways of asking: bare, masked, and masked with the items listed.

The four examples are the product's own, written in this form, and the rules are alike, so no pipeline is
shown more than another. `amount` and `count` of an option are there since gold has them.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.cart import MAX_COUNT, MAX_LINES, MAX_OPTIONS, MAX_QUANTITY, Amount, CartDraft, ItemLine
from schemas.menu import Menu
from services.engines.decoding.prompt import examples, menu_text
from services.engines.ports import Message
from tests.bench.orders import labels_of

NOT_ON_MENU = "not on the menu"
MAX_ITEM_CHARS = 80
EXAMPLES = 4

RULES = """You take orders. Turn what the customer said into a JSON cart and nothing else.
- One entry for each different item; the same item with different sizes or options is several entries.
- Write only what was said. A size, option, amount or number that was not said is left out.
- The customer's last word counts: what was taken back or replaced is not in the cart.
- If nothing is ordered, the list is empty.

{"items": [...]}, each item with
  item: the menu's name of it, or "not on the menu"
  quantity: how many, an integer
  size: the code of a size, or left out. Codes: %(sizes)s
  options: a list, or left out; each with
    name: an option of the menu
    amount: "none", "light" or "extra", where it was said
    count: how many of it, where it was said"""


class _Strict(BaseModel):
    # Strict, as the validators of the claim's language are: "2" is no number.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class OptionSaid(_Strict):
    """One option of an item; that `name` is one of the menu is checked with the menu at hand."""

    name: str
    amount: Literal["none", "light", "normal", "extra"] = "normal"
    count: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 1


class ItemSaid(_Strict):
    """One line. `item` is free text; `size` one of the menu's codes."""

    item: Annotated[str, Field(min_length=1, max_length=MAX_ITEM_CHARS)]
    quantity: Annotated[int, Field(ge=1, le=MAX_QUANTITY)]
    size: str | None = None
    options: Annotated[list[OptionSaid], Field(max_length=MAX_OPTIONS)] = []


class CartSaid(_Strict):
    """What the old pipeline asks for."""

    items: Annotated[list[ItemSaid], Field(max_length=MAX_LINES)]


def option_names(menu: Menu) -> list[str]:
    """Every option's name, once."""
    return sorted(set(labels_of(menu.id).options.values()))


def schema(menu: Menu, *, items: bool) -> dict[str, Any]:
    """The JSON Schema of the menu's carts in this form; with `items` the item is one of the menu's names."""
    labels = labels_of(menu.id)
    item: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": MAX_ITEM_CHARS}
    if items:
        item = {"enum": [*labels.items.values(), NOT_ON_MENU]}
    option = _object(
        {
            "name": {"enum": option_names(menu)},
            "amount": {"enum": [amount.value for amount in Amount]},
            "count": {"type": "integer", "minimum": 1, "maximum": MAX_COUNT},
        },
        ["name"],
    )
    line = _object(
        {
            "item": item,
            "quantity": {"type": "integer", "minimum": 1, "maximum": MAX_QUANTITY},
            "size": {"enum": [*labels.sizes, None]},
            "options": {"type": "array", "items": option, "maxItems": MAX_OPTIONS},
        },
        ["item", "quantity"],
    )
    return _object({"items": {"type": "array", "items": line, "maxItems": MAX_LINES}}, ["items"])


def grammar(menu: Menu, *, items: bool) -> str:
    """The same for llguidance, compact as the examples are."""
    told = {**schema(menu, items=items), "x-guidance": {"whitespace_flexible": False}}
    return f"%llguidance {{}}\nstart: %json {json.dumps(told)}\n"


def messages(said: str, menu: Menu, shown: int = EXAMPLES) -> list[Message]:
    """The chat of one order, with the first `shown` of the product's examples."""
    sizes = ", ".join(f"{code} = {name}" for code, name in labels_of(menu.id).sizes.items())
    system = RULES % {"sizes": sizes} + "\n\n" + menu_text(menu, menu.items, menu.option_groups)
    chat = [{"role": "system", "content": system}]
    for example in examples(menu)[:shown]:
        chat.append({"role": "user", "content": f"Customer: {example.said}"})
        chat.append({"role": "assistant", "content": written(example.draft, menu)})
    return [*chat, {"role": "user", "content": f"Customer: {said}"}]


def written(draft: CartDraft, menu: Menu) -> str:
    """A draft in this form, compact, with what is not said left out."""
    labels, lines = labels_of(menu.id), []
    for line in draft.lines:
        found: dict[str, Any] = {"item": NOT_ON_MENU, "quantity": line.quantity}
        if isinstance(line, ItemLine):
            found["item"] = labels.items[line.sku]
            found |= {"size": line.size} if line.size is not None else {}
            options = [
                {"name": labels.options[option.group, option.id]}
                | option.model_dump(mode="json", include={"amount", "count"}, exclude_defaults=True)
                for option in line.options
            ]
            found |= {"options": options} if options else {}
        lines.append(found)
    return json.dumps({"items": lines}, ensure_ascii=False, separators=(",", ":"))


def _object(fields: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
