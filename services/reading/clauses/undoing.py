"""What a customer takes back, refuses, swaps or brings back of an order that is being told."""

from __future__ import annotations

from dataclasses import replace

from services.reading.chart.mentions import Name
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said, refused
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Lost, Pointer
from services.reading.clauses.tally import Tally, Wish
from services.reading.language.turns import ONES


class Undoer:
    """Changes the tally as clauses of taking back ask for."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._listener, self._tally, self._pointer = listener, tally, pointer

    def remove(self, clause: Clause, said: Said) -> bool:
        """ "Scratch the muffin", "lose one of the fries", "take the mustard off"; False where nothing is
        named that could be taken back, so that it is what was said last."""
        target = self._pointer.refers(clause, said) if said.item is None else None
        if target is not None:
            self._tally.drop(target)
        elif said.item is not None:
            # "Never mind the pizza", when the meat lovers is all that there is.
            only = self._tally.wishes if len(self._tally.wishes) == 1 else []
            found = self._tally.of_item(said.skus)[:1] or self._pointer.by_words(said) or only
            some = self._pointer.some(clause)
            if found and some is not None and found[0].quantity > some:
                found[0].quantity -= some
                self._tally.focus_on(found[0])
            elif found:
                self._tally.drop(found[0])
        elif said.options and (
            held := self._tally.with_choice((o.group, o.id) for c in said.options for o in c)
        ):
            some = self._pointer.some(clause)
            if some is not None and held[0].quantity > some:
                held[0].quantity -= some  # "drop one of the lambs"
            else:
                self.undo(said)
        elif said.options:
            return self.refuse(clause, said)
        elif not said.anything and (found := self._pointer.by_kind(said.words)):
            self._tally.drop(found[0])
        else:
            return bool(said.sizes)
        return True

    def refuse(self, clause: Clause, said: Said) -> bool:
        """ "Don't put any foam on it", "leave the drizzle off"; False before any item was named."""
        target = self._pointer.refers(clause, said)
        if not self._tally.wishes:
            return False
        none = replace(said, item=None, options=tuple(refused(c) for c in said.options))
        self._pointer.give([target] if target is not None else self._tally.focus, none)
        return True

    def undo(self, said: Said, *, here: bool = False) -> bool:
        """ "Not the cheddar", "instead of the fries": what is named is not wished for, or no longer, of the
        lines that are spoken of (`here`) or any. True where an option went, and another may take its
        place."""
        vacant = False
        choices = {(o.group, o.id) for o in said.options[0]} if said.options else set()
        for wish in self._tally.with_choice(choices)[:1]:
            spoken = any(self._tally.offers(w, group) for w in self._tally.focus for group, _ in choices)
            if here and spoken and wish not in self._tally.focus:
                continue  # of another line than this one, which has it no more
            for choice in choices:
                wish.options.pop(choice, None)
            self._tally.focus, vacant = [wish], True
        for wish in self._tally.of_item(said.skus)[:1]:
            self._tally.drop(wish)
        never = bool(choices) and not choices & self._tally.ever
        if here and never and not self._tally.single(said.options[0][0].group):
            self._pointer.give(self._tally.focus, Said(options=(refused(said.options[0]),)))
        if said.number is not None and not (said.options or said.item or said.sizes):
            self._drop_number(said.number.value)
        if said.options[1:]:
            self._pointer.give(self._tally.focus, Said(options=said.options[1:]))
        return vacant

    def _drop_number(self, number: int) -> None:
        """ "Four egg tarts, not three": the line that was said before with that number goes."""
        last = self._tally.wishes[-1:]
        same = [w for wish in last for w in self._tally.of_item(wish.items) if w is not wish]
        for wish in [w for w in same if w.quantity == number][:1]:
            self._tally.drop(wish)

    def unsay(self, said: Said) -> None:
        """ "Swiss, no, cheddar": the option right before goes, though more of its group could be had."""
        for wish in self._tally.focus:
            last = next(reversed(wish.options), None)
            if any((o.group, o.id) in wish.options for c in said.options for o in c):
                continue  # "make that three sugars"
            if last is not None and any(o.group == last[0] for c in said.options for o in c):
                del wish.options[last]

    def give_way(self, said: Said) -> None:
        """ "Go with the corn salsa instead": the one of its kind that was wished for goes."""
        groups = {option.group for choices in said.options for option in choices}
        for wish in self._tally.focus:
            alike = [choice for choice in wish.options if choice[0] in groups]
            if len(alike) == 1:
                del wish.options[alike[0]]

    def keep(self, said: Said) -> None:
        """ "Actually, keep the quiche".

        Raises:
            Lost: no such thing was ordered.
        """
        held = [w for w in reversed(self._tally.gone) if set(said.skus) & set(w.items)]
        if held:
            self._tally.restore(held[0])
        elif not self._tally.of_item(said.skus):
            raise Lost

    def _resized(self, clause: Clause, said: Said, old: Name, held: list[Wish]) -> bool:
        """ "Make the twenty piece a ten piece", "bump that up to a large": another size for the line that has
        the one that is named, or what is spoken of; False where neither is meant."""
        size = old.of("size")
        lines = held or [w for w in self._tally.wishes if size is not None and w.size in size.ids]
        if not lines and all(name.of("size") for name in clause.names):
            lines = self._tally.focus[-1:]
        if len(lines) == 1:
            self._pointer.give(lines, Said(sizes=said.sizes[-1:]))
        return len(lines) == 1

    def _of_a_kind(self, name: Name) -> bool:
        """Whether a name is what a group of options is called: "make the milk almond"."""
        words = {t.folded for t in self._listener.tokens[name.start : name.end]}
        return words <= self._listener.lexicon.choices

    def swap(self, clause: Clause, said: Said) -> None:
        """ "Swap the rings for a salad", "switch the mocha to a cold brew".

        Raises:
            Lost: neither one option for another nor one item for another.
        """
        tokens = self._listener.tokens
        if not clause.names:
            raise Lost
        pointed = clause.names[0].end < clause.end and tokens[clause.names[0].end].folded in ONES
        pointed = pointed and tokens[clause.start].folded == "make" and said.item is None
        the = replace(said, words=("the", *said.words))  # the cue has it
        if pointed and (target := self._pointer.refers(clause, the)) is not None:
            self._tally.focus = [target]  # "make the medium one extra hot"
            self._pointer.give([target], self._pointer.about(clause, said, target))
            return
        old, new = clause.names[0], next((n for n in clause.names[1:] if n.of("size") is None), None)
        choices = {(o.group, o.id) for o in self._listener.options(old)}
        held = self._tally.with_choice(choices)[:1]
        some = self._pointer.some(clause)
        if held and some is not None and held[0].quantity > some:
            held = [self._tally.part(held[0], some)]  # "swap one of the chilis for mint"
        if held and new is not None and self._listener.options(new):
            for choice in choices:
                held[0].options.pop(choice, None)
            self._tally.focus = held
            self._pointer.give(held, Said(options=(self._listener.options(new),)))
            return
        if said.sizes and new is None and self._resized(clause, said, old, held):
            return
        if new is not None and self._listener.options(new) and self._of_a_kind(old):
            self._pointer.give(self._tally.focus, Said(options=(self._listener.options(new),)))
            return
        gone = old.of("item")
        lines = self._tally.of_item(gone.ids)[:1] if gone is not None else []
        lines = lines or (self._pointer.by_words(replace(said, item=old)) if gone is not None else [])
        mention = new.of("item") if new is not None else None
        if lines and new is None and said.number is not None and len(clause.names) == 1:
            lines[0].quantity = said.number.value  # "make the fries three"
            return
        if lines and mention is None and (said.sizes or new is not None):
            self._tally.focus = lines
            own = {o.id for o in self._listener.options(old)}
            options = tuple(c for c in said.options if not own & {o.id for o in c})
            self._pointer.give(lines, replace(said, item=None, options=options))
            return
        if not lines or new is None or mention is None:
            raise Lost
        if some is not None and lines[0].quantity > some:
            lines = [self._tally.part(lines[0], some)]  # "change one of the lattes to a chai"
        self._tally.drop(lines[0])
        number = said.number.value if said.number and some is None else lines[0].quantity
        wish = self._tally.add(Wish(mention.ids, (new.start, new.end), number))
        wish.size = lines[0].size if lines[0].size and self._tally.sized(wish, lines[0].size) else None
        own = {o.id for name in (old, new) for o in self._listener.options(name)}
        options = tuple(c for c in said.options if not own & {o.id for o in c})
        self._pointer.give([wish], replace(said, item=None, options=options))
