"""One thing for another: "swap the rings for a salad", "make the fries three"."""

from __future__ import annotations

from dataclasses import dataclass, replace

from services.reading.chart.mentions import Name, phrase_end
from services.reading.clauses.changes import Answer, Changes, Drop, Focus, Recount, Swap
from services.reading.clauses.clause import Clause, Lost
from services.reading.clauses.content import Choices, Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.makers.sharing import share, split, told_apart
from services.reading.clauses.pointing import Pointer, Target
from services.reading.clauses.tally import Tally, Wish


@dataclass(frozen=True, slots=True)
class _Pair:
    """`old` is to become `new`, of `some` or of all. `held` is the line that has `old` as an option, `lines`
    the one that it names as an item; each is a list of one or of none."""

    said: Said
    old: Name
    new: Name | None
    old_options: Choices
    new_options: Choices
    some: int | None
    held: list[Wish]
    lines: list[Wish]


class Swapper:
    """Makes the changes of a clause that swaps an option, a size, a number or an item for another."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._listener, self._tally, self._pointer = listener, tally, pointer
        self._language = listener.tokens.language

    def swap(self, clause: Clause, said: Said) -> Changes:
        """ "Swap the rings for a salad", "switch the mocha to a cold brew".

        Raises:
            Lost: neither one option for another nor one item for another.
        """
        if not clause.names:
            raise Lost
        if (target := self._pointed(clause, said)) is not None:
            line = yield from told_apart(self._tally, target)
            yield Focus((line,))
            yield from share(self._tally, (line,), self._pointer.about(clause, said, line))
            return
        pair = yield from self._told(clause, said)
        if (yield from self._option(pair)) or (yield from self._size(clause, pair)):
            return
        if (yield from self._kind(pair)) or (yield from self._number(clause, pair)):
            return
        if not (yield from self._choices(pair)):
            yield from self._item(pair)

    def _pointed(self, clause: Clause, said: Said) -> Target | None:
        """ "Make the medium one extra hot": the line that is pointed at by what it has."""
        tokens, after = self._listener.tokens, clause.names[0].end
        makes = phrase_end(tokens, clause.start, self._language.making) is not None and said.item is None
        if not makes or after >= clause.end or tokens[after].folded not in self._language.ones:
            return None
        cue = tuple(token.folded for token in tokens[clause.start : clause.body])  # the article is its
        return self._pointer.refers(clause, replace(said, words=(*cue, *said.words)))

    def _told(self, clause: Clause, said: Said) -> Answer[_Pair]:
        """What is swapped for what. Where only some of a line swap an option, they are told apart."""
        number = said.number
        if number is not None and self._listener.tokens[number.start].folded in self._language.homophones:
            said = replace(said, number=None)  # "swap the fries for onion rings": no four of them
        old, new = clause.names[0], next((n for n in clause.names[1:] if n.of("size") is None), None)
        own = self._listener.options(old)
        other = self._listener.options(new) if new is not None else ()
        held = self._tally.with_choice((o.group, o.id) for o in own)[:1]
        some = self._pointer.some(clause)
        if held and some is not None and held[0].quantity > some:
            held = [(yield from split(self._tally, held[0], some))]  # "swap one of the chilis for mint"
        gone = old.of("item")
        lines = self._tally.of_item(gone.ids)[:1] if gone is not None else []
        lines = lines or (self._pointer.by_words(replace(said, item=old)) if gone is not None else [])
        return _Pair(said, old, new, own, other, some, held, lines)

    def _option(self, pair: _Pair) -> Answer[bool]:
        """ "Swap the chili for mint": one option for another, on the line that has it."""
        if not (pair.held and pair.new_options):
            return False
        yield Drop(pair.held[0], tuple((option.group, option.id) for option in pair.old_options))
        yield Focus(tuple(pair.held))
        yield from share(self._tally, pair.held, Said(options=(pair.new_options,)))
        return True

    def _size(self, clause: Clause, pair: _Pair) -> Answer[bool]:
        """ "Make the twenty piece a ten piece", "bump that up to a large": another size for the line that has
        the one that is named, or what is spoken of; False where neither is meant."""
        if not pair.said.sizes or pair.new is not None:
            return False
        size = pair.old.of("size")
        lines = pair.held or [w for w in self._tally.wishes if size is not None and w.size in size.ids]
        if not lines and all(name.of("size") for name in clause.names):
            lines = [*self._tally.focus[-1:]]
        if len(lines) != 1:
            return False
        yield from share(self._tally, lines, Said(sizes=pair.said.sizes[-1:]))
        return True

    def _kind(self, pair: _Pair) -> Answer[bool]:
        """ "Make the milk almond": an option by what its group is called."""
        called = {t.folded for t in self._listener.tokens[pair.old.start : pair.old.end]}
        if not pair.new_options or not called <= self._listener.lexicon.choices:
            return False
        yield from share(self._tally, self._tally.focus, Said(options=(pair.new_options,)))
        return True

    def _number(self, clause: Clause, pair: _Pair) -> Answer[bool]:
        """ "Make the fries three"."""
        if not pair.lines or pair.said.number is None or len(clause.names) > 1:
            return False
        yield Recount(pair.lines[0], pair.said.number.value)
        return True

    def _choices(self, pair: _Pair) -> Answer[bool]:
        """ "Make the burger a large", "change the latte to decaf": what a line that is named is to have."""
        other = pair.new is not None and pair.new.of("item") is None
        if not pair.lines or not (other or (pair.new is None and pair.said.sizes)):
            return False
        yield Focus(tuple(pair.lines))
        yield from share(self._tally, pair.lines, _beside(pair.said, pair.old_options))
        return True

    def _item(self, pair: _Pair) -> Changes:
        """ "Change one of the lattes to a chai": another item in the place of a line or of some of it.

        Raises:
            Lost: no line has the old one, or no item is to come.
        """
        mention = pair.new.of("item") if pair.new is not None else None
        if not pair.lines or pair.new is None or mention is None:
            raise Lost
        said, some, gone = pair.said, pair.some, pair.lines[0]
        if some is not None and gone.quantity > some:
            gone = yield from split(self._tally, gone, some)
        number = said.number.value if said.number and some is None else gone.quantity
        by = Wish(mention.ids, (pair.new.start, pair.new.end), number)
        if gone.size and self._tally.sized(by, gone.size):
            by = replace(by, size=gone.size)
        yield Swap(gone, by)
        yield from share(self._tally, (by,), _beside(said, (*pair.old_options, *pair.new_options)))


def _beside(said: Said, own: Choices) -> Said:
    """What is said beside the names themselves, where these could be read as options too."""
    known = {option.id for option in own}
    options = tuple(c for c in said.options if not known & {o.id for o in c})
    return replace(said, item=None, options=options)
