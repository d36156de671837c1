"""What all orders of one menu version share: its names, its text in the prompt, and its retrieval index."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from schemas.menu import Menu
from services.decoding.menu_names import Names
from services.decoding.menu_text import menu_text
from services.decoding.ports import CartRequest, Message
from services.decoding.prompt import messages, names_line, untrained
from services.retrieval.names import MenuNames
from services.retrieval.retrieval import Retrieval, retrieve


@dataclass
class MenuContext:
    """Made once for a menu version; its parts are read by any thread."""

    menu: Menu
    names: Names = field(init=False)
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.names = Names(self.menu)
        self.text = menu_text(self.menu, self.names)

    @cached_property
    def lookup(self) -> MenuNames:
        """The names as retrieval looks them up."""
        return MenuNames(self.menu)

    def retrieve(self, transcript: str) -> Retrieval:
        """Look the words of a transcript up in this menu."""
        return retrieve(transcript, self.lookup)

    def messages(self, asked: CartRequest, *, trained: bool = True) -> list[Message]:
        """Return the chat of one order; a model that was not `trained` is shown the rules as well."""
        other = self.retrieve(asked.second) if asked.second else None
        named = names_line(self.retrieve(asked.transcript), self.names, other)
        put = messages if trained else untrained
        return put(self.text, asked.transcript, named, asked.second)
