"""What is said before the item or the number that it belongs to: "four, I mean five, croissants", "three six
inch subs, a ham, a tuna and a club", "burgers, two". Until then it is expected."""

from __future__ import annotations

from dataclasses import replace

from services.reading.clauses.changes import Add, Answer, Changes, Expect, Recount, Resize, Topic
from services.reading.clauses.content import Said
from services.reading.clauses.makers.sharing import share
from services.reading.clauses.tally import Tally, Wish


class Waiting:
    """Makes the changes by which something waits, and those by which a line takes it up."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def forget(self) -> Changes:
        """Drop what waits for an item."""
        yield self._expect_early(())

    def _expect_early(self, early: tuple[Said, ...]) -> Expect:
        return Expect(replace(self._tally.expected, early=early))

    def early(self, said: Said, *, replaces: bool) -> Changes:
        """Keep what is said before any item ("four, I mean five, croissants")."""
        early = self._tally.expected.early
        if replaces and not (said.options or said.sizes):
            early = tuple(known for known in early if known.options or known.sizes)
        yield self._expect_early((*early, said))

    def sized_again(self, said: Said) -> Changes:
        """ "A regular, no, a large milkshake": a size that was said before goes."""
        early = self._tally.expected.early
        if said.sizes and any(known.sizes for known in early):
            yield self._expect_early(tuple(known for known in early if not known.sizes))

    def same_size(self, size: str) -> Changes:
        """ "The same size": of what was just ordered without one, or of what comes next."""
        last = self._tally.wishes[-1]
        if last.size is None and self._tally.sized(last, size):
            yield Resize(last, size)
        else:
            yield from self.early(Said(sizes=(size,)), replaces=False)

    def counts_late(self, said: Said) -> Answer[bool]:
        """ "Burgers, two": give a plural the number that was still to come; False where none waits."""
        late = self._tally.expected.uncounted
        if late is None or said.item is not None or said.number is None:
            return False
        yield Recount(late, said.number.value)
        yield Expect(replace(self._tally.expected, uncounted=None))
        yield Topic(late)
        yield from share(self._tally, (late,), said)
        return True

    def take_early(self, line: Wish, said: Said, *, counted: bool) -> Changes:
        """What was said before a line is of it: "four, I mean five, croissants"."""
        for early in self._tally.expected.early:
            number = early.number.value if early.number else None
            if early.sizes and said.sizes:  # "a large and a small margherita"
                another = Wish(said.skus, line.at, number or 1)
                yield Add(another, before=line)
                yield from share(self._tally, (another,), early)
                continue
            yield from share(self._tally, (line,), early)
            if number is not None and not counted:
                yield Recount(line, number)
        if self._tally.expected.early:
            yield self._expect_early(())

    def head_of(self, line: Wish, said: Said, *, counted: bool) -> Changes:
        """ "Three six inch subs, a ham, a tuna and a club": what is said of all at first holds for each."""
        known = self._tally.expected
        head, first = known.head, known.early[0] if len(known.early) == 1 else None
        number = first.number.value if first is not None and first.number is not None else 0
        if first is not None and counted and not said.sizes and number > line.quantity:
            head = number, first
            yield self._expect_early(())
        if head is None:
            return
        left = head[0] - line.quantity
        if left >= 0 and not said.sizes:
            yield from share(self._tally, (line,), head[1])
        head = (left, head[1]) if left > 0 else None
        yield Expect(replace(self._tally.expected, head=head))
