"""Texts that are nearly a cart: one thing wrong with each. Where each must be refused, the reference says."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from typing import Any

from schemas.evidence import Evidence
from services.engines.masks.labels import Labels
from tests.wire_text import wire

Line = dict[str, Any]


def near(text: str, evidence: Evidence, rng: random.Random) -> dict[str, str]:
    """What is wrong -> a text with that fault, made from the valid `text`. None of them may be written."""
    labels = Labels(evidence.menu)
    lines: list[Line] = json.loads(text)["lines"]
    cut = rng.randrange(len(text))
    made = {
        "unfinished": text[:cut],
        "trailing comma in the list": re.sub(r"\]\}$", ",]}", text),
        "something after it": text + rng.choice((" ", "\n", "}", ",", "x", "\x00")),
        "a space after a colon": text.replace(":", ": ", 1),
        "a bare list": json.dumps(lines),
        "extra field of the cart": text[:-1] + ',"total":0}',
        "another cart after it": text + text,
        "no cart": "Sure! Here is your cart: " + text,
    }
    if not lines:
        return made
    which = rng.randrange(len(lines))
    for what, edit in EDITS.items():
        changed = copy.deepcopy(lines)
        edited = edit(changed[which], labels, rng)
        if edited is not None and not (what == "one letter less" and _said(edited["heard"], evidence)):
            made[what] = wire(*changed[:which], edited, *changed[which + 1 :])
    stranger = _another_item(evidence)
    if stranger and "sku" in lines[which]:
        changed = copy.deepcopy(lines)
        changed[which]["sku"] = stranger
        made["an item that nobody named"] = wire(*changed)
    quantity = re.search(r'"quantity":(\d+)', text)
    assert quantity is not None
    for what, number in (
        ("word for a number", '"two"'),
        ("bare word", "two"),
        ("float", "2.0"),
        ("sign", "-1"),
    ):
        made[what] = text[: quantity.start(1)] + number + text[quantity.end(1) :]
    made["leading zero"] = text[: quantity.start(1)] + "0" + text[quantity.start(1) :]
    made["unfinished string"] = text[: text.index('"heard":"') + 10]
    made["trailing comma in a line"] = text[: quantity.end(1)] + ",}" + text[quantity.end(1) :]
    return made


def perhaps(text: str, rng: random.Random) -> dict[str, str]:
    """What was done -> a text so changed that it may be a cart or not, as the order requires."""
    lines: list[Line] = json.loads(text)["lines"]
    if not lines:
        return {}
    which = rng.randrange(len(lines))
    line, others = lines[which], [*lines[:which], *lines[which + 1 :]]
    changed = {
        "a size left out": {key: value for key, value in line.items() if key != "size"},
        "options left out": {key: value for key, value in line.items() if key != "options"},
        "one option left out": {**line, "options": line.get("options", [{}])[1:]},
        "another number": {**line, "quantity": rng.choice((1, 2, 3, 12, 999, 1000))},
        "fewer words": {**line, "heard": line["heard"].rpartition(" ")[2]},
    }
    made = {what: wire(*lines[:which], edited, *lines[which + 1 :]) for what, edited in changed.items()}
    made["a line left out"] = wire(*others)
    made["a line again"] = wire(*lines, line)
    made["another order of lines"] = wire(*others, line)
    return made


def _with(**fields: Any) -> Callable[[Line, Labels, random.Random], Line]:
    return lambda line, _labels, _rng: {**line, **fields}


def _without(name: str) -> Callable[[Line, Labels, random.Random], Line]:
    return lambda line, _labels, _rng: {key: value for key, value in line.items() if key != name}


def _wrong_order(line: Line, _labels: Labels, _rng: random.Random) -> Line:
    return dict(reversed(line.items()))


def _code_for_size(line: Line, labels: Labels, _rng: random.Random) -> Line | None:
    code = next((c for c, name in labels.sizes.items() if name == line.get("size")), None)
    return {**line, "size": code} if code not in (None, *labels.sizes.values()) else None


def _code_for_item(line: Line, labels: Labels, _rng: random.Random) -> Line | None:
    code = next((sku for sku, name in labels.items.items() if name == line.get("sku")), None)
    return {**line, "sku": code} if code not in (None, *labels.items.values()) else None


def _another_item(evidence: Evidence) -> str | None:
    """The name of an item that the menu has and that nobody named."""
    return next((item.name for item in evidence.menu.items if item.sku not in evidence.items), None)


def _stranger(line: Line, labels: Labels, rng: random.Random) -> Line | None:
    """An option of a group that the item does not have."""
    item = next((i for i in labels.menu.items if i.name == line.get("sku")), None)
    others = [g for g in labels.menu.option_groups if item is not None and g.id not in item.option_groups]
    if not others:
        return None
    group = rng.choice(others)
    return {**line, "options": [{"group": group.name, "id": rng.choice(group.options).name}]}


def _twice(line: Line, _labels: Labels, _rng: random.Random) -> Line | None:
    return {**line, "options": line["options"] + line["options"] * 8} if "options" in line else None


def _in_option(**fields: Any) -> Callable[[Line, Labels, random.Random], Line | None]:
    def edit(line: Line, _labels: Labels, rng: random.Random) -> Line | None:
        options = line.get("options", [])
        if options:
            rng.choice(options).update(fields)
        return line if options else None

    return edit


def _said(heard: str, evidence: Evidence) -> bool:
    """Whether words that lost a letter end in another word that was said ("<<" in "<")."""
    words = " ".join([evidence.transcript, *(line.region for line in evidence.lines)]).split()
    return heard.split(" ")[-1] in ("", *words)


def _heard(change: Callable[[str], str]) -> Callable[[Line, Labels, random.Random], Line]:
    return lambda line, _labels, _rng: {**line, "heard": change(line["heard"])}


EDITS: dict[str, Callable[[Line, Labels, random.Random], Line | None]] = {
    "extra field": _with(note="hot"),
    "price": _with(price=0),
    "size spelled null": _with(size=None),
    "size of no menu": _with(size="gigantic"),
    "item of no menu": _with(sku="unicorn steak"),
    "other kind": _with(kind="thing"),
    "no quantity": _without("quantity"),
    "no heard": _without("heard"),
    "no kind": _without("kind"),
    "wrong order": _wrong_order,
    "more than anybody may order": _with(quantity=1000),
    "none at all": _with(quantity=0),
    "the size's code for its name": _code_for_size,
    "the item's code for its name": _code_for_item,
    "an option of another item": _stranger,
    "options again": _twice,
    "a price on an option": _in_option(price=0),
    "a default amount, spelled out": _in_option(amount="normal"),
    "a default count, spelled out": _in_option(count=1),
    "an option of no menu": _in_option(id="unicorn dust"),
    "words nobody said": _heard(lambda text: text + " for free"),
    "a leading space": _heard(lambda text: " " + text),
    "a trailing space": _heard(lambda text: text + " "),
    "nothing heard": _heard(lambda text: ""),
    "one letter less": _heard(lambda text: text[:-1]),
}


def dented(text: bytes, rng: random.Random) -> bytes:
    """One byte taken out, put in or changed; it may still be a cart."""
    at = rng.randrange(len(text))
    way = rng.randrange(3)
    new = bytes([rng.choice(text) if rng.random() < 0.7 else rng.randrange(256)]) if way else b""
    return text[:at] + new + text[at + (way != 1) :]
