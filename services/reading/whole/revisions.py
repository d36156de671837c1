"""Self-corrections: what a customer took back is struck out before anything is looked for.

"Two, no, three lattes" is read as "three lattes", "scratch the muffin" strikes out the muffin and all that
was said with it. Only plain cases are settled here: a word of taking back, what follows it, and one thing
before it of the same kind. Where any of them is not plain, nothing is struck out and the model decides, with
every value open to it, and the order is a doubt.
"""

from __future__ import annotations

from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance
from services.reading.language.english import AND
from services.reading.language.turns import (
    ADDING,
    BETWEEN_CUES,
    INSTEAD_OF,
    NEGATING,
    REFUSING,
    REMOVING,
    REPLACING,
    SWAPPING,
    SWAPS_FOR,
    UNSURE,
    WEAK_CUES,
)
from services.reading.whole.denials import deny, give_up
from services.reading.whole.sheet import Sheet, Value


class _NotPlain(Exception):
    """A correction that only the whole of the sentence can tell."""


def revise(tokens: Utterance, mentions: list[Mention], menu: Menu) -> tuple[Utterance, list[Mention]] | None:
    """Tokens and mentions without what was taken back; None where a correction is not plain."""
    reviser = _Reviser(tokens, mentions, menu)
    try:
        at = 0
        while at < len(tokens):
            at = reviser.settle(at)
    except _NotPlain:
        return None
    return reviser.result()


class _Reviser(Sheet):
    """Settles one correction after another on the sheet; the rules of this file."""

    def __init__(self, tokens: Utterance, mentions: list[Mention], menu: Menu) -> None:
        super().__init__(tokens, mentions)
        self._single = menu.choose_one
        self._offered = {item.sku: set(item.option_groups) for item in menu.items}
        self._has_gone = False
        self._gone_at = -1  # where what was taken back last ends

    def settle(self, at: int) -> int:
        """Settle the correction that begins at `at`; the position to go on from."""
        if at in self.named:
            return at + 1
        if (end := self.phrase(at, SWAPPING)) is not None:
            return self._swap(at, end)
        if (end := self.phrase(at, INSTEAD_OF)) is not None:
            return self._instead(at, end)
        if (end := self.phrase(at, NEGATING)) is not None and self.values:
            after = deny(self, at, end, self._single) if self.tokens[at].folded == "not" else None
            if after is None:
                raise _NotPlain
            return after
        gone = self._removed(at)
        if gone is not None:
            return self._remove(at, gone)
        end, strong = self._cues(at)
        if end > at and self.before(at) and self.phrase(end, (*INSTEAD_OF, ("not",))) is not None:
            self.strike(at, end)  # "oh wait, not the slaw"
            return end
        if end > at:
            if not self._in_its_place(at, end):
                self._replace(at, end, strong=strong)
            return end
        if self._has_gone and self.tokens[at].folded == "instead" and self._closes(at):
            return at + 1  # "scratch the lavender, put maple in it instead"
        if self.phrase(at, (*REMOVING, *UNSURE)) is not None and self.before(at):
            raise _NotPlain
        return at + 1

    def _in_its_place(self, at: int, end: int) -> bool:
        """ "Forget the bread, make it the sticks": they come for what has just gone, and for nothing else."""
        new = self.after(end) if at == self._gone_at else None
        if new is None or self.item_after(new) is None:
            return False
        self.strike(at, end)
        return True

    def _closes(self, at: int) -> bool:
        """Whether a clause ends with the word at `at`."""
        last = at + 1 == len(self.tokens) or bool(self.tokens[at].after)
        return last or self.tokens[at + 1].folded in AND

    def _cues(self, at: int) -> tuple[int, bool]:
        """Where a run of words of replacing ends, and whether they can only mean that."""
        end, strong = at, False
        while True:
            found = self.phrase(end, REPLACING)
            if found is None:
                break
            alone = self.tokens[end].folded == "no" and found == end + 1
            article = found < len(self.tokens) and self.tokens[found].folded in ("a", "an")
            new = self.after(found) if article else None
            article = new is not None and self.item_after(new) is not None  # "no A1" is none
            if alone and not (self.tokens[end].after or article or self.phrase(found, REPLACING)):
                break  # "no foam" takes nothing back, "no, a mocha" does
            words = " ".join(token.folded for token in self.tokens[end:found])
            strong = strong or words not in WEAK_CUES
            end = found
            while end < len(self.tokens) and self.tokens[end].folded in BETWEEN_CUES:
                end += 1
        return end, strong

    def _replace(self, at: int, end: int, *, strong: bool) -> None:
        new, before = self.after(end), self.before(at)
        adds = not strong and end < len(self.tokens) and self.tokens[end].folded in ADDING
        if not before or (new is None and (adds or not self.goes_on(end))):
            return  # nothing to take back, or nothing in its place: small talk, or one thing more
        if new is None:
            raise _NotPlain
        self.strike(at, end)
        if self.phrase(new.end, INSTEAD_OF) is not None:
            return  # "make it jalapeños instead of the onions": what goes is still to come
        item = self.item_after(new)
        old_item = next((v for v in reversed(before) if v.kind == "item"), None)
        if item is not None and old_item is not None and old_item.names() & item.names():
            # "a small latte, no, a large latte" names the same line again.
            self.lend(old_item, item)
            parts = [v for v in self.values if new.start <= v.start and v.end <= item.start]
            for part in parts:
                self._take_over(before, part)
        elif item is not None and old_item is not None and not self._adjacent(before, new, at):
            self._replace_item(before, old_item, new, item, strong=strong)
        else:
            self._take_over(before, new, adjacent=self._adjacent(before, new, at))

    def _adjacent(self, before: list[Value], new: Value, at: int) -> bool:
        """Whether the value that is taken back stands right before the correction ("two, no, three")."""
        last = before[-1]
        return new.kind != "item" and last.kind == new.kind and last.end == at

    def _replace_item(
        self, before: list[Value], old: Value, new: Value, item: Value, *, strong: bool
    ) -> None:
        own = [v for v in before if self.clause(old)[0] <= v.start and v is not old]
        if not strong or any(v.kind in ("option", "item") for v in own):
            raise _NotPlain
        self.strike(old.start, old.end)
        kinds = {v.kind for v in self.values if new.start <= v.start and v.end <= item.start}
        for value in own:
            if value.kind == "number" or value.kind in kinds:
                self.strike(value.start, value.end)

    def _take_over(self, before: list[Value], new: Value, *, adjacent: bool = False) -> None:
        """Put `new` in the place of the last value of its kind, if one belongs to the last item."""
        old = next((v for v in reversed(before) if self._same_kind(v, new, adjacent=adjacent)), None)
        if old is None or sum(v.kind == "item" and v.start >= old.end for v in before) > 1:
            if new.kind == "number":
                raise _NotPlain  # what it counts is before it, where no number was said
            return  # said for the first time: it stands where it is
        if new.kind == "option":
            # Its amount stands beside it, so it can't be read at another place; nor can the old one's stay.
            self.strike_amount(old)
            self.strike(old.start, old.end)
        else:
            self.lend(old, new)

    def _same_kind(self, old: Value, new: Value, *, adjacent: bool) -> bool:
        """Options are of one kind within a group: any of it right beside ("swiss, no, cheddar"), else one
        that can be chosen once."""
        if not old.alike(new) or adjacent or new.kind != "option":
            return old.alike(new)
        return bool(new.groups() & old.groups() & self._single)

    def _swap(self, at: int, end: int) -> int:
        """ "Swap the whole milk for skim"."""
        old = self.after(end)
        joint = None if old is None else self.phrase(old.end, SWAPS_FOR)
        new = None if joint is None else self.after(joint)
        if old is None or new is None or old.kind != new.kind:
            raise _NotPlain
        earlier = self.earlier(old, at)
        if earlier is None:
            raise _NotPlain
        self.strike(at, old.end)
        self.strike(old.end, new.start)
        self.lend(earlier, new)
        return new.end

    def _instead(self, at: int, end: int) -> int:
        """ "Oat milk instead of whole": what is named after it was never wished for, or no longer is."""
        gone, before = self.after(end), self.before(at)
        if gone is not None and (after := give_up(self, at, gone)) is not None:
            return after
        if gone is None or not before or not before[-1].alike(gone):
            raise _NotPlain
        self.strike(at, gone.end)
        earlier = self.earlier(gone, at)
        if earlier is None and any(group not in self._single for group, _ in gone.names()):
            raise _NotPlain  # "with bacon instead of ham": a Hawaiian comes with ham, though nobody said so
        if earlier is not None:
            self.lend(earlier, before[-1])
        return gone.end

    def _remove(self, at: int, gone: Value) -> int:
        earlier = self.earlier(gone, at)
        if earlier is None or gone.kind == "number":
            raise _NotPlain
        self.strike(at, gone.end)
        self._has_gone = True
        if earlier.kind == "item":
            start, end = self.clause(earlier)
            if sum(v.kind == "item" and start <= v.start < end for v in self.values) > 1:
                raise _NotPlain
            until = self.next_clause(earlier, at)
            # "A burger meal and fries. Cancel the meal": are the fries its own?
            if any(v.kind == "item" and until <= v.start < at and self.is_choice(v) for v in self.values):
                raise _NotPlain
            self.strike(start, min(max(end, until), at))
        else:
            self.strike(earlier.start, earlier.end)
        self._gone_at = gone.end
        return gone.end

    def _removed(self, at: int) -> Value | None:
        """What a word of removing at `at` is about; "scratch that, ..." replaces instead."""
        end, that = self.phrase(at, REMOVING), self.phrase(at, REPLACING)
        if end is None:
            return self._refused(at)
        replaces = that is not None and that > end and self.tokens[that - 1].after
        return None if replaces else self.after(end)

    def _refused(self, at: int) -> Value | None:
        """What "no muffin" takes back: an item ordered before, or an option of a sentence before."""
        if self.tokens[at].folded not in REFUSING or self.tokens[at].after:
            return None
        gone = self.after(at + 1)
        earlier = None if gone is None else self.earlier(gone, at)
        if gone is not None and earlier is None and self.item_after(gone) is not None:
            raise _NotPlain  # "no coffee" may be "no, coffee"
        if gone is None or earlier is None or gone.kind not in ("item", "option"):
            return None
        between = [v for v in self.before(at) if v.kind == "item" and v.start >= earlier.end]
        if gone.kind == "option" and between:
            groups = gone.groups()
            if not all(groups & self._offered.get(sku, set()) for _, sku in between[-1].names()):
                raise _NotPlain
            return None  # it is said of the item that came in between
        sentences = any(token.after in SENTENCE_ENDS for token in self.tokens[earlier.end - 1 : at])
        return gone if gone.kind == "item" or sentences else None
