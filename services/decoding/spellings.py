"""How a cart is asked for and written: compact cart JSON, or the one line that the shipped adapters learned.

Both are generated from `CartDraft` and name the version of its schema. An adapter's card says which it has
learned; whatever has no adapter is asked for JSON. The one line goes with the last adapter that writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from schemas.menu import Menu
from services.decoding import menu_text, unmasked, wire
from services.decoding.mask import Mask, compiles
from services.decoding.prompt import messages, names_line, untrained
from services.decoding.short_form import Line, Names, pieces
from services.decoding.short_mask import short_mask
from services.decoding.wire import Told
from services.decoding.wire_mask import wire_mask
from services.engines.ports import Message
from services.retrieval.names import MenuNames
from services.retrieval.retrieval import retrieve

Spans = dict[tuple[int, int], str]
"""Each number, name and word of an answer, by where it stands in it (begin, end)."""


@dataclass
class MenuContext:
    """What every order of one menu version shares."""

    menu: Menu
    names: Names = field(init=False)
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.names = Names(self.menu)
        self.text = menu_text.menu_text(self.menu, self.names)

    @cached_property
    def lookup(self) -> MenuNames:
        """The names as retrieval looks them up."""
        return MenuNames(self.menu)

    def named(self, transcript: str) -> str:
        """The line of names that retrieval finds in the words."""
        return names_line(retrieve(transcript, self.lookup), self.names)

    @cached_property
    def one_line(self) -> Mask:
        """The mask of the one line, which is the same for all orders. Raises DecodeInvalid."""
        mask = short_mask(self.menu, self.names)
        compiles(mask)
        return mask


class Spelling(Protocol):
    """One way of asking for a cart and of writing it."""

    def messages(self, transcript: str, context: MenuContext) -> list[Message]: ...

    def mask(self, transcript: str, context: MenuContext) -> Mask:
        """The mask of one order. Raises DecodeInvalid where it does not compile: a server would drop it."""
        ...

    def write(self, lines: Iterable[Line], context: MenuContext) -> str: ...

    def read(self, text: str, context: MenuContext) -> Told:
        """What an answer says. Raises Unreadable."""
        ...

    def spans(self, text: str) -> Spans: ...


class CartJson:
    """Compact cart JSON, with the names that retrieval found behind the customer's words."""

    def messages(self, transcript: str, context: MenuContext) -> list[Message]:
        return messages(context.text, transcript, context.named(transcript))

    def mask(self, transcript: str, context: MenuContext) -> Mask:
        mask = wire_mask(context.names, transcript)
        compiles(mask)
        return mask

    def write(self, lines: Iterable[Line], context: MenuContext) -> str:
        return wire.write(lines, context.names)

    def read(self, text: str, context: MenuContext) -> Told:
        return wire.read_cart(text, context.names)

    def spans(self, text: str) -> Spans:
        return {(begin, end): text[begin:end].strip('"') for begin, end in unmasked.values(text)}


class Explained(CartJson):
    """The same for a model that was not trained for it: the format is explained."""

    def messages(self, transcript: str, context: MenuContext) -> list[Message]:
        return untrained(context.text, transcript, context.named(transcript))


class OneLine:
    """`2 large | Latte + oat milk; 1 ?`, for the menu and the words alone."""

    def messages(self, transcript: str, context: MenuContext) -> list[Message]:
        return menu_text.messages(context.text, transcript)

    def mask(self, transcript: str, context: MenuContext) -> Mask:  # noqa: ARG002 - as `Spelling` has it
        return context.one_line

    def write(self, lines: Iterable[Line], context: MenuContext) -> str:
        return context.names.write(lines)

    def read(self, text: str, context: MenuContext) -> Told:
        return Told(context.names.read(text))

    def spans(self, text: str) -> Spans:
        return pieces(text)


CART_JSON = CartJson()
EXPLAINED = Explained()
ONE_LINE = OneLine()
SPELLINGS: dict[str, Spelling] = {"json": CART_JSON, "line": ONE_LINE}
"""By the name that an adapter's card has for them."""
CARD = "trained.json"
"""The file of an adapter's folder that says how it was trained."""


def learned(adapter: Path | None) -> Spelling:
    """The spelling that the adapter in a folder has learned; JSON where there is none. Cards older than the
    second spelling do not name theirs."""
    if adapter is None:
        return CART_JSON
    return SPELLINGS[json.loads((adapter / CARD).read_text(encoding="utf-8")).get("form", "line")]
