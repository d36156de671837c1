"""What came back, judged as the claim counts and as strictly as we count; and the look-up after the parse.

As the claim counts: a text that is not the JSON of the schema, each kind of fault by its name. An item is
free text there, so any word passes. As strictly as ours: also a cart that names or joins what the menu lacks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

from schemas.cart import CartDraft
from schemas.menu import Item, Menu, spoken_key
from services.checks.facts import check_facts
from tests.bench.chat import Answer
from tests.bench.claim.form import NOT_ON_MENU, CartSaid, ItemSaid, option_names
from tests.bench.orders import labels_of
from tests.bench.techniques.reading import FENCE

KINDS = (
    "refused",
    "truncated",
    "no JSON",
    "broken JSON",
    "trailing comma",
    "words around the JSON",
    "number in words",
    "size by name",
    "size off the list",
    "option off the list",
    "amount off the list",
    "field missing",
    "field too many",
    "wrong type",
    "out of bounds",
)
# Of our findings those that say that a cart is false, not that an order is incomplete or can't be filled.
FALSE = frozenset(
    {
        "unknown_item",
        "size_not_offered",
        "option_not_offered",
        "unknown_option",
        "too_many_choices",
        "option_repeated",
        "quantity_over_limit",
    }
)
_TRAILING = re.compile(r",(\s*[}\]])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class Judged:
    """`failure` is one of KINDS with its `problem` in words, or None and `draft` is the cart looked up.

    `fenced`: the JSON stood in a code fence, which is forgiven. `unknown` are items that are no name of the
    menu; `false` the codes of FALSE that our own check finds in the cart.
    """

    failure: str | None
    problem: str
    draft: CartDraft
    fenced: bool = False
    unknown: tuple[str, ...] = ()
    false: tuple[str, ...] = ()

    @property
    def strict_failure(self) -> str | None:
        """As strictly as ours: the claim's failure, or the first of what makes the cart false."""
        return self.failure or next(iter(("item of no menu",) if self.unknown else self.false), None)


def judge(answer: Answer, menu: Menu) -> Judged:
    """One answer of a model that was asked for the claim's form."""
    if answer.finish != "stop":
        cut = answer.finish == "length"
        return _failed("truncated" if cut else "refused", "the answer was cut off" if cut else answer.text)
    fence = FENCE.match(answer.text)
    text = fence.group(1) if fence else answer.text
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _failed(_unparsed(text), f"this is not JSON: {error}")
    try:
        said = CartSaid.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return _failed(_untyped(first), f"{where}: {first['msg']}", fenced=fence is not None)
    for index, line in enumerate(said.items):
        if found := _off_list(line, menu):
            return _failed(found[0], f"items.{index}.{found[1]}", fenced=fence is not None)
    lines, unknown = _looked_up(said, menu)
    draft = CartDraft.model_validate({"lines": lines})
    return Judged(None, "", draft, fence is not None, tuple(unknown), false_of(draft, menu))


def false_of(draft: CartDraft, menu: Menu) -> tuple[str, ...]:
    """The codes for which our own check calls a cart false of the menu, of any pipeline's cart."""
    return tuple(finding.code for finding in check_facts(draft, menu) if finding.code in FALSE)


def _failed(kind: str, problem: str, *, fenced: bool = False) -> Judged:
    return Judged(kind, problem, CartDraft(lines=()), fenced)


def _unparsed(text: str) -> str:
    """Why a text is no JSON: but for a comma, but for words around it, by its brackets or quotes, or
    altogether."""
    if _parses(_without_trailing_commas(text)):
        return "trailing comma"
    begin, end = text.find("{"), text.rfind("}")
    if 0 <= begin < end and _parses(text[begin : end + 1]):
        return "words around the JSON"
    return "broken JSON" if text.lstrip()[:1] in ("{", "[") else "no JSON"


def _without_trailing_commas(text: str) -> str:
    """Commas before a closing bracket taken away, but for those inside strings."""
    strings: list[str] = []

    def put_by(found: re.Match[str]) -> str:
        strings.append(found[0])
        return '""'

    bare = _TRAILING.sub(r"\1", _STRING.sub(put_by, text))
    kept = iter(strings)
    return re.sub(r'""', lambda _: next(kept), bare)


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _untyped(error: Any) -> str:
    """The kind of pydantic's first error."""
    field, kind = error["loc"][-1] if error["loc"] else "", error["type"]
    if kind == "missing":
        return "field missing"
    if kind == "extra_forbidden":
        return "field too many"
    if field in ("quantity", "count") and isinstance(error["input"], str):
        return "number in words"
    if kind in ("greater_than_equal", "less_than_equal", "string_too_short", "string_too_long", "too_long"):
        return "out of bounds"
    return "amount off the list" if kind == "literal_error" else "wrong type"


def _off_list(line: ItemSaid, menu: Menu) -> tuple[str, str] | None:
    """The first value of a line that the menu's lists lack: its kind, and where and what."""
    sizes = labels_of(menu.id).sizes
    if line.size is not None and line.size not in sizes:
        named = {spoken_key(n) for size in menu.sizes for n in (size.name, *size.aliases)}
        kind = "size by name" if spoken_key(line.size) in named else "size off the list"
        return kind, f"size: {line.size!r} is none of {', '.join(sizes)}"
    known = set(option_names(menu))
    for place, option in enumerate(line.options):
        if option.name not in known:
            return "option off the list", f"options.{place}.name: the menu has no option {option.name!r}"
    return None


def _looked_up(said: CartSaid, menu: Menu) -> tuple[list[dict[str, Any]], list[str]]:
    """Draft lines by id, and the items that no name of the menu is. These become lines that are not on the
    menu, like those that the model itself called so."""
    lines, unknown = [], []
    for line in said.items:
        item = _names(menu.id).get(spoken_key(line.item))
        if item is None:
            if spoken_key(line.item) != spoken_key(NOT_ON_MENU):
                unknown.append(line.item)
            lines.append({"kind": "not_on_menu", "heard": NOT_ON_MENU, "quantity": line.quantity})
            continue
        options = [
            {
                "group": group,
                "id": found,
                "amount": option.amount,
                "count": option.count,
            }
            for option in line.options
            for group, found in [_option(option.name, item, menu)]
        ]
        named = {"sku": item.sku, "quantity": line.quantity, "size": line.size, "options": options}
        lines.append({"kind": "item", "heard": item.name, **named})
    return lines, unknown


@cache
def _names(menu_id: str) -> dict[str, Item]:
    """By each name and alias as it is spoken, and its plain plural, the item. A name goes before an alias."""
    menu = labels_of(menu_id).menu
    called = [(item.name, item) for item in menu.items]
    called += [(alias, item) for item in menu.items for alias in item.aliases]
    found: dict[str, Item] = {}
    for plural in ("", "s"):
        for name, item in called:
            found.setdefault(spoken_key(name) + plural, item)
    return found


def _option(name: str, item: Item, menu: Menu) -> tuple[str, str]:
    """Group and id of an option's name: that of a group which the item has, or else the menu's first."""
    found = [ref for ref, called in labels_of(menu.id).options.items() if called == name]
    return next((ref for ref in found if ref[0] in item.option_groups), found[0])
