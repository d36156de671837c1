"""Other forms of the same cart, one change at a time: what does the form alone do to a cart?

A form changes the schema, the examples in the prompt and the reading of an answer together, so that the
model is always shown what it is asked for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from schemas.menu import Menu
from services.engines.ports import Message
from tests.bench.chat import Answer
from tests.bench.orders import Order, labels_of
from tests.bench.techniques.wire import wire_schema

Line = dict[str, Any]
_NOT_ON_MENU_RULE = "- Something that is not on the menu"
_NOT_ON_MENU_NOTE = "not_on_menu = "


@dataclass(frozen=True, slots=True)
class Form:
    """`order` is the order of a line's fields. `compact` is how the examples are spelled."""

    name: str
    says: str
    order: tuple[str, ...] = ("kind", "heard", "sku", "quantity", "size", "options")
    codes: bool = False
    free_whitespace: bool = False
    escape: bool = True

    def messages(self, order: Order) -> list[Message]:
        """The product's prompt, with its examples in this form."""
        shown = [
            {**message, "content": self._example(message["content"], order.menu)}
            if message["role"] == "assistant"
            else dict(message)
            for message in order.messages()
        ]
        if not self.escape:
            kept = (line for line in shown[0]["content"].split("\n") if not _about_the_escape(line))
            shown[0]["content"] = "\n".join(kept)
        if self.codes:
            tables = _codes(order.menu).values()
            table = "\n".join(f"{code} = {name}" for codes in tables for name, code in codes.items())
            shown[0]["content"] += f"\n\nIn the cart, write these codes in place of names:\n{table}"
        return shown

    def schema(self, menu: Menu) -> dict[str, Any]:
        """The schema of the menu's carts in this form."""
        schema = wire_schema(menu)
        definitions = schema["$defs"]
        for definition in definitions.values():
            fields = definition.get("properties", {})
            if "kind" in fields:
                definition["properties"] = {name: fields[name] for name in self.order if name in fields}
        if not self.escape:
            lines = schema["properties"]["lines"]
            lines["items"] = {"$ref": "#/$defs/ItemLine"}
            del definitions["NotOnMenuLine"]
        if self.codes:
            codes = _codes(menu)
            item, option = definitions["ItemLine"]["properties"], definitions["OptionDraft"]["properties"]
            item["sku"]["enum"] = list(codes["sku"].values())
            item["size"]["anyOf"][0]["enum"] = list(codes["size"].values())
            option["group"]["enum"] = list(codes["group"].values())
            option["id"]["enum"] = list(codes["id"].values())
        return schema

    def names(self, answer: Answer, menu: Menu) -> Answer:
        """The answer with names for codes; what is no cart is left as it is, to be judged as such."""
        if not self.codes:
            return answer
        names = {field: {code: name for name, code in codes.items()} for field, codes in _codes(menu).items()}
        try:
            lines = [_renamed(line, names) for line in json.loads(answer.text)["lines"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            return answer
        return replace(answer, text=json.dumps({"lines": lines}, ensure_ascii=False))

    def _example(self, text: str, menu: Menu) -> str:
        lines: list[Line] = json.loads(text)["lines"]
        if not self.escape:
            lines = [line for line in lines if line["kind"] == "item"]
        if self.codes:
            lines = [_renamed(line, _codes(menu)) for line in lines]
        lines = [{name: line[name] for name in self.order if name in line} for line in lines]
        separators = None if self.free_whitespace else (",", ":")
        return json.dumps({"lines": lines}, ensure_ascii=False, separators=separators)


BASE = Form("schema-llguidance", "as it is: kind and words first, names, compact, an escape")
FORMS = (
    Form("kind-last", "kind last", ("heard", "sku", "quantity", "size", "options", "kind")),
    Form("alphabetical", "fields by the alphabet", ("heard", "kind", "options", "quantity", "size", "sku")),
    Form("codes", "codes for names", codes=True),
    Form("whitespace", "free whitespace, examples with spaces", free_whitespace=True),
    Form("no-escape", "no `not_on_menu`", escape=False),
)


def _about_the_escape(line: str) -> bool:
    return line.startswith((_NOT_ON_MENU_RULE, _NOT_ON_MENU_NOTE))


Codes = dict[str, dict[str, str]]
"""By the draft's field: name -> code, or back."""


def _codes(menu: Menu) -> Codes:
    """Opaque codes, numbered in the menu's order: I items, Z sizes, G groups, P options."""
    labels = labels_of(menu.id)
    kinds = {
        "sku": ("I", labels.items.values()),
        "size": ("Z", labels.sizes.values()),
        "group": ("G", labels.groups.values()),
        "id": ("P", sorted(set(labels.options.values()))),
    }
    return {
        field: {name: f"{letter}{number:02}" for number, name in enumerate(names, 1)}
        for field, (letter, names) in kinds.items()
    }


def _renamed(line: Line, table: Codes) -> Line:
    """The line with each name or code put through the table; one that is not there stays."""
    done = {
        name: table[name].get(value, value) if name in table and value is not None else value
        for name, value in line.items()
    }
    if "options" in line:
        done["options"] = [_renamed(option, table) for option in line["options"]]
    return done
