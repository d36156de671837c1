"""What takes the place of what was said before it: after "no, make that", after "forget the bread", after
"the same but with"; and one thing for another, "swap the rings for a salad".

A word of taking back and what takes its place may stand in different clauses ("wait, sorry, a large one"), so
what the one leaves behind is kept for the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from services.reading.chart.mentions import Name, phrase_end
from services.reading.chart.tokens import Utterance
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Choices, Said
from services.reading.clauses.cues import Cue
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Lost, Pointer
from services.reading.clauses.tally import Tally, Wish


class Replacing:
    """What is still to come in the place of something. `strong` is a word of taking back that can only mean
    so ("scratch that"; "wait" may add something); `freed` tells that a line was taken back, and its place is
    free."""

    def __init__(self, tokens: Utterance, tally: Tally) -> None:
        self._tokens, self._tally = tokens, tally
        self._language = tokens.language
        self.strong = False
        self.freed = False
        self._pending = False  # a word of taking back was said, and not yet what takes its place
        self._vacant = False  # an option was taken back, for another
        self._varies = False  # what differs is being told: "the same but with tots and a cola"

    def begins(self, clause: Clause) -> None:
        """Remember what the way in which a clause begins means for it and the next."""
        language = self._language
        cue = self._tokens[clause.start : clause.body] if clause.cue is Cue.REPLACE else []
        self.strong = (self.strong and self._pending) or any(t.folded not in language.weak_cues for t in cue)
        goes_on = clause.lead in language.conjunctions or clause.lead == ","
        self._varies = clause.lead in language.turning or (self._varies and goes_on)

    def changes(self, clause: Clause) -> bool:
        """Whether a name that may be an item or a choice is rather a choice of what stands."""
        return self._pending or self._vacant or self._varies or clause.cue is Cue.REPLACE

    def replaces(self, clause: Clause, said: Said) -> bool:
        """Whether what a clause says takes the place of what was said last."""
        joined = clause.lead in self._language.conjunctions
        replaces = (self._pending and not joined) or clause.cue is Cue.REPLACE
        # "Forget the bread, make it the sticks": the bread is gone, and nothing else has to go.
        return replaces and not (self.freed and said.item and not self._tally.of_item(said.skus))

    def settled(self) -> None:
        """What was to take a place was said, or nothing was."""
        self._pending = False

    def waits(self, clause: Clause) -> None:
        """Nothing was said by a clause: "no, make that, um, ..."."""
        self._pending = clause.cue is Cue.REPLACE or (self._pending and clause.lead in ("", ","))

    def undone(self, *, vacant: bool) -> None:
        """ "Not the cheddar": `vacant` where the option was wished for, and another may be."""
        self._pending, self._vacant = False, vacant

    def removed(self, said: Said, *, found: bool, fewer: bool) -> None:
        """ "Scratch the muffin": `found` where it is clear what is taken back, `fewer` where less stands
        now."""
        self._pending = not found or (self._pending and not said.anything)
        self.freed = fewer
        self._vacant = fewer and bool(said.options) and said.item is None

    def filled(self) -> None:
        """What was free is taken."""
        self._vacant = self.freed = False


@dataclass(frozen=True, slots=True)
class _Swap:
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
    """Does to the tally what a clause swaps: an option, a size, a number or an item for another."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._listener, self._tally, self._pointer = listener, tally, pointer
        self._language = listener.tokens.language

    def swap(self, clause: Clause, said: Said) -> None:
        """ "Swap the rings for a salad", "switch the mocha to a cold brew".

        Raises:
            Lost: neither one option for another nor one item for another.
        """
        if not clause.names:
            raise Lost
        if (target := self._pointed(clause, said)) is not None:
            self._tally.focus = [target]
            self._pointer.give([target], self._pointer.about(clause, said, target))
            return
        swap = self._told(clause, said)
        changed = self._option(swap) or self._size(clause, swap) or self._kind(swap)
        if not (changed or self._number(clause, swap) or self._choices(swap)):
            self._item(swap)

    def _pointed(self, clause: Clause, said: Said) -> Wish | None:
        """ "Make the medium one extra hot": the line that is pointed at by what it has."""
        tokens, after = self._listener.tokens, clause.names[0].end
        makes = phrase_end(tokens, clause.start, self._language.making) is not None and said.item is None
        if not makes or after >= clause.end or tokens[after].folded not in self._language.ones:
            return None
        cue = tuple(token.folded for token in tokens[clause.start : clause.body])  # the article is its
        return self._pointer.refers(clause, replace(said, words=(*cue, *said.words)))

    def _told(self, clause: Clause, said: Said) -> _Swap:
        """What is swapped for what. Where only some of a line swap an option, they are told apart."""
        old, new = clause.names[0], next((n for n in clause.names[1:] if n.of("size") is None), None)
        own = self._listener.options(old)
        other = self._listener.options(new) if new is not None else ()
        held = self._tally.with_choice((o.group, o.id) for o in own)[:1]
        some = self._pointer.some(clause)
        if held and some is not None and held[0].quantity > some:
            held = [self._tally.part(held[0], some)]  # "swap one of the chilis for mint"
        gone = old.of("item")
        lines = self._tally.of_item(gone.ids)[:1] if gone is not None else []
        lines = lines or (self._pointer.by_words(replace(said, item=old)) if gone is not None else [])
        return _Swap(said, old, new, own, other, some, held, lines)

    def _option(self, swap: _Swap) -> bool:
        """ "Swap the chili for mint": one option for another, on the line that has it."""
        if not (swap.held and swap.new_options):
            return False
        for option in swap.old_options:
            swap.held[0].options.pop((option.group, option.id), None)
        self._tally.focus = swap.held
        self._pointer.give(swap.held, Said(options=(swap.new_options,)))
        return True

    def _size(self, clause: Clause, swap: _Swap) -> bool:
        """ "Make the twenty piece a ten piece", "bump that up to a large": another size for the line that has
        the one that is named, or what is spoken of; False where neither is meant."""
        if not swap.said.sizes or swap.new is not None:
            return False
        size = swap.old.of("size")
        lines = swap.held or [w for w in self._tally.wishes if size is not None and w.size in size.ids]
        if not lines and all(name.of("size") for name in clause.names):
            lines = self._tally.focus[-1:]
        if len(lines) == 1:
            self._pointer.give(lines, Said(sizes=swap.said.sizes[-1:]))
        return len(lines) == 1

    def _kind(self, swap: _Swap) -> bool:
        """ "Make the milk almond": an option by what its group is called."""
        called = {t.folded for t in self._listener.tokens[swap.old.start : swap.old.end]}
        if not swap.new_options or not called <= self._listener.lexicon.choices:
            return False
        self._pointer.give(self._tally.focus, Said(options=(swap.new_options,)))
        return True

    def _number(self, clause: Clause, swap: _Swap) -> bool:
        """ "Make the fries three"."""
        if not swap.lines or swap.said.number is None or len(clause.names) > 1:
            return False
        swap.lines[0].quantity = swap.said.number.value
        return True

    def _choices(self, swap: _Swap) -> bool:
        """ "Make the burger a large", "change the latte to decaf": what a line that is named is to have."""
        other = swap.new is not None and swap.new.of("item") is None
        if not swap.lines or not (other or (swap.new is None and swap.said.sizes)):
            return False
        self._tally.focus = swap.lines
        self._pointer.give(swap.lines, _beside(swap.said, swap.old_options))
        return True

    def _item(self, swap: _Swap) -> None:
        """ "Change one of the lattes to a chai": another item in the place of a line or of some of it.

        Raises:
            Lost: no line has the old one, or no item is to come.
        """
        mention = swap.new.of("item") if swap.new is not None else None
        if not swap.lines or swap.new is None or mention is None:
            raise Lost
        tally, said, some, gone = self._tally, swap.said, swap.some, swap.lines[0]
        if some is not None and gone.quantity > some:
            gone = tally.part(gone, some)
        tally.drop(gone)
        number = said.number.value if said.number and some is None else gone.quantity
        wish = tally.add(Wish(mention.ids, (swap.new.start, swap.new.end), number))
        wish.size = gone.size if gone.size and tally.sized(wish, gone.size) else None
        self._pointer.give([wish], _beside(said, (*swap.old_options, *swap.new_options)))


def _beside(said: Said, own: Choices) -> Said:
    """What is said beside the names themselves, where these could be read as options too."""
    known = {option.id for option in own}
    options = tuple(c for c in said.options if not known & {o.id for o in c})
    return replace(said, item=None, options=options)
