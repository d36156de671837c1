"""What all orders of one menu version share: its names, and its text in the prompt."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from cachetools import LRUCache, cached

from schemas.menu import Menu
from services.decoding.menu_names import Names
from services.decoding.menu_text import menu_text
from services.decoding.ports import CartRequest, Message
from services.decoding.prompt import messages, names_line
from services.retrieval.names import names_of
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

    def retrieve(self, transcript: str) -> Retrieval:
        """Look the words of a transcript up in this menu."""
        return retrieve(transcript, names_of(self.menu))

    def messages(
        self, asked: CartRequest, *, trained: bool = True, retrieval: Retrieval | None = None
    ) -> list[Message]:
        """Return the chat of one order; a model that was not `trained` is shown the rules as well.
        `retrieval` is that of the transcript, where it was made already."""
        other = self.retrieve(asked.second) if asked.second else None
        named = names_line(retrieval or self.retrieve(asked.transcript), self.names, other)
        return messages(self.text, asked.transcript, named, asked.second, trained=trained)


@cached(LRUCache(64), key=id, lock=Lock())  # as `names_of`
def context_of(menu: Menu) -> MenuContext:
    """Return the context of a menu; the last 64 menus are cached."""
    return MenuContext(menu)
