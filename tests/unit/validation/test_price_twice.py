"""Prices and taxes of random carts on random menus, against a second calculation that shares no code."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.cart import CartDraft, ItemLine, OptionDraft
from schemas.menu import Menu
from schemas.priced_cart import Cart
from schemas.transcript import Transcript
from services.validation.facts import check_facts
from services.validation.price import price_cart, unit_price
from services.validation.questions import answered

SIZES = ("S", "M", "L")
ROUNDINGS = ("half_up", "half_even", "up", "down")
SAID = Transcript(text="all of it", confidence=1.0)
Document = dict[str, Any]


def any_menu(rng: random.Random) -> Document:
    """A document of the second edition; prices are odd as often as even, so that halves round."""
    groups = [any_group(rng, f"g{number}") for number in range(3)]
    drinks, inner = ["i0", "i1"], [any_group(rng, f"h{number}") for number in range(3)]
    for group in inner:
        del group["halves"]
    for group, opened in ((rng.choice(groups), inner[:2]), (inner[0], inner[2:])):
        group.pop("halves", None)
        for option in group["options"]:
            match rng.choice(("groups", "groups", "item", "item", "nothing")):
                case "groups":
                    option["option_groups"] = [one["id"] for one in opened]
                case "item" if group in groups:
                    option["item"] = rng.choice(drinks)
    items = []
    for number in range(4):
        offered = rng.sample(inner[1:] if f"i{number}" in drinks else groups, rng.randint(1, 2))
        item: Document = {"sku": f"i{number}", "name": f"item {number}", "max_quantity": 99}
        item["option_groups"] = [group["id"] for group in offered]
        if rng.random() < 0.6:
            item["prices"] = {size: rng.randint(0, 1500) for size in rng.sample(SIZES, rng.randint(1, 3))}
            if rng.random() < 0.3:
                item["default_size"] = rng.choice(list(item["prices"]))
        else:
            item["price"] = rng.randint(0, 1500)
        if rng.random() < 0.7:
            item["tax"] = rng.choice(("added", "inside"))
        many = [group for group in offered if group["max"] > 1]
        if many and rng.random() < 0.5:
            override = {"group": rng.choice(many)["id"], "option": "o1", "price": rng.randint(0, 300)}
            item["option_overrides"] = [override]
        items.append(item)
    rates = (rng.choice((875, "8.875", "5", 0)), rng.choice((2000, "10", "7.25")))
    taxes = [
        {"id": name, "name": name, "rate": rate, "included": name == "inside", "rounding": rounding}
        | {"per_line": rng.random() < 0.5}
        for name, rate, rounding in zip(("added", "inside"), rates, rng.sample(ROUNDINGS, 2), strict=True)
    ]
    sizes = [{"id": size, "name": size} for size in SIZES]
    menu = {"id": "any", "name": "any", "currency": "USD", "sizes": sizes, "taxes": taxes}
    return {**menu, "option_groups": groups + inner, "items": items}


def any_group(rng: random.Random, name: str) -> Document:
    options = []
    for number in range(rng.randint(2, 4)):
        option: Document = {"id": f"o{number}", "name": f"{name} o{number}", "price": rng.randint(0, 300)}
        if rng.random() < 0.3:
            option["prices"] = {rng.choice(SIZES): rng.randint(0, 300)}
        if rng.random() < 0.3:
            option["amount_prices"] = {rng.choice(("none", "light", "extra")): rng.randint(0, 300)}
        options.append(option)
    group: Document = {"id": name, "name": name, "options": options, "halves": True}
    group["max"] = rng.choice((1, 6))
    group["min"] = rng.randint(0, 1) if group["max"] == 1 else rng.randint(0, 3)
    group["free"] = rng.randint(0, min(2, group["max"]))
    group["defaults"] = ["o0"] if rng.random() < 0.3 else []
    return group


def any_draft(rng: random.Random, menu: Document) -> CartDraft:
    lines = []
    for item in rng.choices(menu["items"], k=rng.randint(1, 5)):
        size = rng.choice(list(item.get("prices", {None: 0})))
        options = any_options(rng, menu, item["option_groups"], "")
        line = {"kind": "item", "heard": "x", "sku": item["sku"], "size": size, "options": options}
        lines.append({**line, "quantity": rng.randint(1, 4)})
    return CartDraft.model_validate({"lines": lines})


def any_options(rng: random.Random, menu: Document, group_ids: list[str], way: str) -> list[Document]:
    """Options of these groups, and of those inside what was drawn."""
    found = []
    for group in (group for group in menu["option_groups"] if group["id"] in group_ids):
        for option in rng.sample(group["options"], rng.randint(0, 2)):
            found.append(any_option(rng, f"{way}{group['id']}", option["id"]))
            if "halves" not in group:
                found[-1]["portion"] = "whole"
            if found[-1]["amount"] == "none":
                continue
            item, here = item_of(menu, option), f"{way}{group['id']}>{option['id']}"
            if item and len(item.get("prices", ())) > 1 and rng.random() < 0.7:
                found.append({"group": here, "id": rng.choice(list(item["prices"]))})
            found += any_options(rng, menu, opened(menu, option), f"{here}>")
    return found


def item_of(menu: Document, option: Document) -> Document | None:
    return next((item for item in menu["items"] if item["sku"] == option.get("item")), None)


def opened(menu: Document, option: Document) -> list[str]:
    return list((item_of(menu, option) or option).get("option_groups", ()))


def any_option(rng: random.Random, group: str, option: str) -> Document:
    amount = rng.choice(("none", "light", "normal", "normal", "extra"))
    portion = rng.choice(("whole", "whole", "left", "right"))
    return {"group": group, "id": option, "count": rng.randint(1, 3), "amount": amount, "portion": portion}


def rounded(amount: Fraction, rounding: str = "half_up") -> int:
    low, rest = divmod(amount, 1)
    to_even = (2 * rest, low % 2) > (1, 0)
    up = {"half_up": 2 * rest >= 1, "half_even": to_even, "up": rest > 0, "down": False}
    return low + up[rounding]


def second_price(line: ItemLine, menu: Document) -> int:
    """What one of a line costs: each portion on its own, and the free ones struck out."""
    item = next(item for item in menu["items"] if item["sku"] == line.sku)
    total = item["prices"][line.size] if line.size else item["price"]
    return int(total) + second_options(line, menu, item, line.size, "")


def second_options(line: ItemLine, menu: Document, item: Document, size: str | None, way: str) -> int:
    """What the options of an item cost, or of an option that opens groups; `way` is the one to them."""
    total = 0
    for group in (group for group in menu["option_groups"] if group["id"] in item["option_groups"]):
        mine = [option for option in line.options if option.group == way + group["id"]]
        total += second_group(mine, item, group, size)
        counts = {one.id: one.count for one in mine if one.amount != "none"}
        if group["max"] > 1 or not counts:
            by_default = set(group["defaults"]) - {one.id for one in mine}
            counts |= dict.fromkeys(by_default, 1)
        for option in (option for option in group["options"] if option["id"] in counts):
            inside = second_inside(line, menu, option, size, f"{way}{group['id']}>{option['id']}")
            total += counts[option["id"]] * inside
    return total


def second_inside(line: ItemLine, menu: Document, option: Document, size: str | None, here: str) -> int:
    """What the size and the options of one option cost."""
    item = item_of(menu, option)
    if item is None:
        group_ids = {"option_groups": option.get("option_groups", [])}
        return second_options(line, menu, group_ids, size, f"{here}>")
    prices = item.get("prices", {None: 0})
    usual = item.get("default_size", min(prices, key=prices.__getitem__))
    by_itself = usual if "default_size" in item or len(prices) == 1 else None
    own = next((one.id for one in line.options if one.group == here), by_itself)
    more = max(0, prices[own] - prices[usual]) if own else 0
    return more + second_options(line, menu, item, own, f"{here}>")


def second_group(mine: list[OptionDraft], item: Document, group: Document, size: str | None) -> int:
    total = 0
    owed = {place: [wanted(one, item, group, size)] * one.count for place, one in enumerate(mine)}
    strikable = []
    for place, one in enumerate(mine):
        if one.amount == "none":
            continue
        saved = min(owed[place][0], plain(one.id, item, group, size))
        for portion in range(one.count):
            if portion == 0 and one.id in group["defaults"]:
                owed[place][0] -= saved
            else:
                worth = saved if one.portion == "whole" else Fraction(saved, 2)
                name = (one.id, one.portion, one.amount, one.count)
                strikable.append((worth, name, place, portion, saved))
    for *_, place, portion, saved in sorted(strikable)[: group["free"]]:
        owed[place][portion] -= saved
    for place, one in enumerate(mine):
        full = sum(owed[place])
        total += full if one.portion == "whole" else rounded(Fraction(full, 2))
    return int(total)


def plain(option_id: str, item: Document, group: Document, size: str | None) -> int:
    for override in item.get("option_overrides", ()):
        if (override["group"], override["option"]) == (group["id"], option_id):
            return int(override["price"])
    option = next(option for option in group["options"] if option["id"] == option_id)
    return int(option.get("prices", {}).get(size, option["price"]))


def wanted(one: OptionDraft, item: Document, group: Document, size: str | None) -> int:
    option = next(option for option in group["options"] if option["id"] == one.id)
    own = option.get("amount_prices", {})
    once = plain(one.id, item, group, size)
    return int(own.get(one.amount.value, {"none": 0, "extra": 2 * once}.get(one.amount.value, once)))


def second_tax(cart: Cart, menu: Document, name: str) -> int:
    tax = next(tax for tax in menu["taxes"] if tax["id"] == name)
    percent = Fraction(tax["rate"], 100) if isinstance(tax["rate"], int) else Fraction(tax["rate"])
    taxed = {item["sku"] for item in menu["items"] if item.get("tax") == name}
    share = percent / (100 + percent if tax["included"] else 100)
    amounts = [line.line_total * share for line in cart.lines if line.sku in taxed]
    if tax["per_line"]:
        return sum(rounded(amount, tax["rounding"]) for amount in amounts)
    return rounded(sum(amounts, Fraction(0)), tax["rounding"])


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32))
def test_a_cart_costs_what_a_second_calculation_says(seed: int) -> None:
    rng = random.Random(seed)
    document = any_menu(rng)
    menu = Menu.parse(document)
    for _ in range(20):
        expect_price(any_draft(rng, document), document, menu)


def expect_price(draft: CartDraft, document: Document, menu: Menu) -> None:
    cart = price_cart(draft, menu, 1, SAID, [])
    for line, priced in zip(draft.lines, cart.lines, strict=True):
        assert isinstance(line, ItemLine)
        if not priced.price_is_minimum:
            assert priced.unit_price == second_price(line, document)
            assert priced.line_total == priced.unit_price * line.quantity
    assert cart.subtotal == sum(line.line_total for line in cart.lines)
    assert {tax.id: tax.amount for tax in cart.taxes} == {
        tax.id: second_tax(cart, document, tax.id) for tax in cart.taxes
    }
    added = sum(tax.amount for tax in cart.taxes if not tax.included)
    assert cart.total == cart.subtotal + added
    shuffled = draft.model_copy(
        update={
            "lines": tuple(line.model_copy(update={"options": line.options[::-1]}) for line in draft.lines)
        }
    )
    assert price_cart(shuffled, menu, 1, SAID, []).total == cart.total


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_no_answer_makes_a_line_cheaper_than_its_least(seed: int) -> None:
    rng = random.Random(seed)
    document = any_menu(rng)
    menu, draft = Menu.parse(document), any_draft(rng, document)
    line = draft.lines[0]
    assert isinstance(line, ItemLine)
    item = menu.item(line.sku)
    assert item is not None
    draft = CartDraft(lines=(line.model_copy(update={"size": None}),))
    asked: set[str] = set()
    while questions := [one.question for one in check_facts(draft, menu) if one.question is not None]:
        question, least = questions[0], unit_price(draft.lines[0], item, menu)
        assert question.id not in asked, "an answer that is sent twice would count twice"
        asked.add(question.id)
        assert least.is_minimum
        answer = rng.choice(question.answers)
        assert answer.price is not None
        assert min(one.price or 0 for one in question.answers) >= least.amount
        draft = answered(draft, question, answer.id)
        assert unit_price(draft.lines[0], item, menu).amount == answer.price
