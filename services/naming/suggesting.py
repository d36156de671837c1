"""Names that are suggested for the things of one shop's menus, and what staff make of them. Nothing enters a
menu by itself: an accepted name is an edit of the menu like any other (ADR 67)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas.errors import Conflict, NotFound
from schemas.menu import Menu
from schemas.naming import FROM_ORDERS, Source, Suggestion, thing_of, with_alias
from schemas.shops.audit import Actor
from services.naming import said
from services.naming.sieve import worth_showing
from services.reading.chart.tokens import Folded, folded
from services.reading.language.language import language_of
from services.storage.base.records import MenuVersion
from services.storage.shops.menus import MenuStore
from services.storage.shops.names import NameStore

if TYPE_CHECKING:
    from services.masked.call import MaskedEngine

MOST_SHOWN = 50
"""Of each source."""

Publish = Callable[[Menu, int], object]
"""Stores a changed menu as the version after the one that is named: what an edit by staff does."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """The menu as it serves, what is suggested for it, commonest first, and the chain whose menu it is."""

    stored: MenuVersion
    suggestions: tuple[Suggestion, ...]
    chain: str | None

    def chosen(self, ids: Collection[str]) -> list[Suggestion]:
        """Raises NotFound for an id that is not there, or not any more."""
        found = {one.id: one for one in self.suggestions}
        if missing := [one for one in ids if one not in found]:
            raise NotFound(
                f"Nothing is suggested under {', '.join(missing)[:80]}",
                hint="It may be decided, or part of the menu by now: list them again.",
            )
        return [found[one] for one in dict.fromkeys(ids)]


class Suggesting:
    """Of one shop. Every call may raise StorageUnavailable beside what it names."""

    def __init__(self, store: NameStore, menus: MenuStore) -> None:
        self._store, self._menus = store, menus

    def found(self, menu_id: str, sources: Sequence[Source] = FROM_ORDERS) -> Suggested:
        """What is open now, of these sources; raises NotFound."""
        stored = self._menus.get(menu_id)
        menu, decided = stored.menu, self._store.decided(menu_id)

        def kept() -> Iterator[Suggestion]:
            seen, shown = set[str](), Counter[Source]()
            for one, about in self._candidates(menu, sources):
                if one.id in seen or shown[one.source] >= MOST_SHOWN:
                    continue
                if any(mark.fits(about) for mark in decided) or not worth_showing(menu, one.thing, one.words):
                    continue
                seen.add(one.id)
                shown[one.source] += 1
                yield one

        return Suggested(stored, tuple(kept()), self._menus.chain_of(menu_id))

    def ask(self, menu_id: str, engine: MaskedEngine) -> None:
        """Have a model think of names, and keep them until somebody decides; raises as `think_of`."""
        from services.naming.thinking import think_of

        self._store.think_of(menu_id, think_of(self._menus.get(menu_id).menu, engine))

    def accept(self, suggested: Suggested, ids: Collection[str], *, publish: Publish, by: Actor) -> None:
        """Make the chosen names part of the menu, as its next version.

        Raises:
            NotFound: as `Suggested.chosen`.
            Conflict: the menu is its chain's, or has a newer version by now.
            InvalidMenu: two of them contradict each other.
        """
        if suggested.chain is not None:
            raise Conflict(
                f"The names of this menu are those of {suggested.chain}",
                hint="Add the name to the menu there; each shop has it with its next order.",
            )
        menu, chosen = suggested.stored.menu, suggested.chosen(ids)
        for one in chosen:
            menu = with_alias(menu, one.thing, one.words)
        whole, _ = Menu.read(menu.model_dump(mode="json", exclude_none=True))
        publish(whole, suggested.stored.version)
        self._decide(menu, chosen, accepted=True, by=by)

    def refuse(self, suggested: Suggested, ids: Collection[str], *, by: Actor) -> None:
        """Never suggest the chosen names for these things again; raises as `Suggested.chosen`."""
        self._decide(suggested.stored.menu, suggested.chosen(ids), accepted=False, by=by)

    def _decide(self, menu: Menu, chosen: Iterable[Suggestion], *, accepted: bool, by: Actor) -> None:
        for one in chosen:
            about = _about(one.thing, folded(one.words, language_of(menu)))
            self._store.decide(menu.id, one, about, accepted=accepted, by=by)

    def _candidates(self, menu: Menu, sources: Sequence[Source]) -> Iterator[tuple[Suggestion, str]]:
        """Each with what its mark is about. Counted over both sources of orders, whichever is asked for."""
        often = said.said_often(
            [
                *said.in_corrections(self._store.corrected(menu.id), menu),
                *said.in_answers(self._store.answered(menu.id), menu),
            ],
            menu,
        )
        for (thing, key), one in often.items():
            if one.source in sources and (made := _suggestion(menu, thing, key, one)):
                yield made, _about(thing, key)
        if "model" in sources:
            for thing, words in self._store.thought_of(menu.id):
                key = folded(words, language_of(menu))
                if made := _suggestion(menu, thing, key, words):
                    yield made, _about(thing, key)


def _suggestion(menu: Menu, thing: str, key: Folded, said_as: said.Said | str) -> Suggestion | None:
    """None where the menu has the thing no more."""
    of = thing_of(menu, thing)
    if of is None:
        return None
    if isinstance(said_as, str):
        words, source, count = said_as, "model", 0
        reason = f"A model thinks that people say “{words}” for {of.name}; no order has said so."
    else:
        words, source, count = said_as.words, said_as.source, len(said_as.orders)
        reason = _REASONS[source].format(count=count, words=words, name=of.name)
    made = hashlib.sha256(f"{menu.id} {_about(thing, key)}".encode()).hexdigest()[:12]
    return Suggestion(
        id=made, thing=thing, name=of.name, words=words, source=source, count=count, reason=reason
    )


_REASONS = {
    "corrections": "{count} orders said “{words}”, which was read as something else or not at all; "
    "staff made it {name}.",
    "orders": "{count} orders said “{words}”, which the menu does not have or which fits several things; "
    "staff or the customer made it {name}.",
}


def _about(thing: str, key: Folded) -> str:
    return f"{thing} {' '.join(key)}"
