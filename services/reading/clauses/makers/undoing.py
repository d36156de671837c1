"""What a customer takes back, refuses or brings back of an order that is being told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from services.reading.clauses.changes import (
    Answer,
    Changes,
    Drop,
    Focus,
    Recount,
    Remove,
    Restore,
    Topic,
)
from services.reading.clauses.clause import Clause, Lost
from services.reading.clauses.content import Said, refused
from services.reading.clauses.makers.sharing import share, told_apart
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Choice, Tally


class Undoer:
    """Makes the changes of clauses of taking back."""

    def __init__(self, tally: Tally, pointer: Pointer) -> None:
        self._tally, self._pointer = tally, pointer

    def remove(self, clause: Clause, said: Said) -> Answer[bool]:
        """ "Scratch the muffin", "lose one of the fries", "take the mustard off"; False where nothing is
        named that could be taken back, so that it is what was said last."""
        target = self._pointer.refers(clause, said) if said.item is None else None
        if target is not None:
            yield Remove((yield from told_apart(self._tally, target)))
        elif said.item is not None:
            yield from self._remove_item(clause, said)
        elif said.options:
            return (yield from self._remove_choice(clause, said))
        elif not said.anything and (found := self._pointer.by_kind(said.words)):
            yield Remove(found[0])
        else:
            return bool(said.sizes)
        return True

    def clear(self) -> Changes:
        """ "Cancel all of that"."""
        for line in self._tally.wishes:
            yield Remove(line)

    def _remove_item(self, clause: Clause, said: Said) -> Changes:
        # "Never mind the pizza", when the meat lovers is all that there is.
        only = self._tally.wishes if len(self._tally.wishes) == 1 else ()
        found = self._tally.of_item(said.skus)[:1] or self._pointer.by_words(said) or only
        some = self._pointer.some(clause)
        if found and some is not None and found[0].quantity > some:
            yield Recount(found[0], found[0].quantity - some)
            yield Topic(found[0])
        elif found:
            yield Remove(found[0])

    def _remove_choice(self, clause: Clause, said: Said) -> Answer[bool]:
        held = self._tally.with_choice((o.group, o.id) for c in said.options for o in c)
        if not held:
            return (yield from self.refuse(clause, said))
        some = self._pointer.some(clause)
        if some is not None and held[0].quantity > some:
            yield Recount(held[0], held[0].quantity - some)  # "drop one of the lambs"
        else:
            yield from self.undo(said)
        return True

    def refuse(self, clause: Clause, said: Said) -> Answer[bool]:
        """ "Don't put any foam on it", "leave the drizzle off"; False before any item was named."""
        if not self._tally.wishes:
            return False
        target = self._pointer.refers(clause, said)
        none = replace(said, item=None, options=tuple(refused(c) for c in said.options))
        lines = self._tally.focus
        if target is not None:
            lines = ((yield from told_apart(self._tally, target)),)
        yield from share(self._tally, lines, none)
        return True

    def undo(self, said: Said, *, here: bool = False) -> Answer[bool]:
        """ "Not the cheddar", "instead of the fries": what is named is not wished for, or no longer, of the
        lines that are spoken of (`here`) or any. True where an option went, and another may take its
        place."""
        tally = self._tally
        choices = {(o.group, o.id) for o in said.options[0]} if said.options else set()
        vacant = yield from self._take_off(choices, here=here)
        for line in tally.of_item(said.skus)[:1]:
            yield Remove(line)
        never = bool(choices) and not choices & tally.ever
        if here and never and not tally.single(said.options[0][0].group):
            yield from share(tally, tally.focus, Said(options=(refused(said.options[0]),)))
        if said.number is not None and not (said.options or said.item or said.sizes):
            yield from self._drop_number(said.number.value)
        if said.options[1:]:
            yield from share(tally, tally.focus, Said(options=said.options[1:]))
        return vacant

    def _take_off(self, choices: Iterable[Choice], *, here: bool) -> Answer[bool]:
        """Take what one name means off the line that has it; False where none does, or where the line that
        is spoken of (`here`) could have it, and another has it."""
        held = self._tally.with_choice(choices)[:1]
        spoken = any(self._tally.offers(w, group) for w in self._tally.focus for group, _ in choices)
        if not held or (here and spoken and held[0] not in self._tally.focus):
            return False
        yield Drop(held[0], tuple(choices))
        yield Focus((held[0],))
        return True

    def _drop_number(self, number: int) -> Changes:
        """ "Four egg tarts, not three": the line that was said before with that number goes."""
        last = self._tally.wishes[-1:]
        same = [w for wish in last for w in self._tally.of_item(wish.items) if w is not wish]
        for line in [w for w in same if w.quantity == number][:1]:
            yield Remove(line)

    def unsay(self, said: Said) -> Changes:
        """ "Swiss, no, cheddar": the option right before goes, though more of its group could be had."""
        for line in self._tally.focus:
            last = next(reversed([*line.options]), None)
            if any((o.group, o.id) in line.options for c in said.options for o in c):
                continue  # "make that three sugars"
            if last is not None and any(o.group == last[0] for c in said.options for o in c):
                yield Drop(line, (last,))

    def give_way(self, said: Said) -> Changes:
        """ "Go with the corn salsa instead": the one of its kind that was wished for goes."""
        groups = {option.group for choices in said.options for option in choices}
        for line in self._tally.focus:
            alike = [choice for choice in line.options if choice[0] in groups]
            if len(alike) == 1:
                yield Drop(line, (alike[0],))

    def keep(self, said: Said) -> Changes:
        """ "Actually, keep the quiche".

        Raises:
            Lost: no such thing was ordered.
        """
        held = [w for w in reversed(self._tally.gone) if set(said.skus) & set(w.items)]
        if held:
            yield Restore(held[0])
        elif not self._tally.of_item(said.skus):
            raise Lost
