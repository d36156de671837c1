"""Self-corrections: what a customer took back is struck out before anything is looked for.

"Two, no, three lattes" is read as "three lattes", "scratch the muffin" strikes out the muffin and all that
was said with it. Only plain cases are settled here: a word of taking back, what follows it, and one thing
before it of the same kind. Where any of them is not plain, nothing is struck out and the model decides, with
every value open to it and a doubt where its cart differs from the last word said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemas.evidence import Mention
from schemas.menu import Menu
from services.pipeline.english import (
    ADDING,
    AMOUNTS,
    AND,
    ARTICLES,
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
from services.pipeline.mentions import SENTENCE_ENDS, Token, span
from services.pipeline.quantifiers import number_value


@dataclass(frozen=True, slots=True)
class Value:
    """Something said that a correction may be about, at token positions [start, end)."""

    kind: str
    start: int
    end: int
    mention: Mention | None = None

    def names(self) -> set[tuple[str, str]]:
        if self.mention is None:
            return set()
        groups = self.mention.groups or ("",) * len(self.mention.ids)
        return set(zip(groups, self.mention.ids, strict=True))


class _NotPlain(Exception):
    """A correction that only the whole of the sentence can tell."""


def revise(
    tokens: list[Token], mentions: list[Mention], menu: Menu
) -> tuple[list[Token], list[Mention]] | None:
    """Tokens and mentions without what was taken back; None where a correction is not plain."""
    draft = _Draft(tokens, mentions, menu)
    try:
        at = 0
        while at < len(tokens):
            at = draft.settle(at)
    except _NotPlain:
        return None
    return draft.result()


class _Draft:
    """The words with what is struck out of them. `lent` are values put in the place of an earlier one."""

    def __init__(self, tokens: list[Token], mentions: list[Mention], menu: Menu) -> None:
        self._tokens = tokens
        self._mentions = mentions
        self._single = {group.id for group in menu.option_groups if group.choose == "one"}
        self._struck: set[int] = set()
        self._numbers: dict[int, str] = {}
        self._pauses: dict[int, str] = {}
        self._names: dict[Mention, Mention] = {}
        named = {i for m in mentions for i in range(*span(tokens, m))}
        values = [Value(m.kind, *span(tokens, m), m) for m in mentions if not m.guessed]
        values += [
            Value("number", i, i + 1)
            for i, token in enumerate(tokens)
            if i not in named and number_value(token.folded)
        ]
        self._values = sorted(values, key=lambda v: (v.start, v.kind != "item"))
        self._named = named

    def settle(self, at: int) -> int:
        """Settle the correction that begins at `at`; the position to go on from."""
        if at in self._named:
            return at + 1
        if (end := self._phrase(at, SWAPPING)) is not None:
            return self._swap(at, end)
        if (end := self._phrase(at, INSTEAD_OF)) is not None:
            return self._instead(at, end)
        if self._phrase(at, NEGATING) is not None and self._values:
            raise _NotPlain
        gone = self._removed(at)
        if gone is not None:
            return self._remove(at, gone)
        end, strong = self._cues(at)
        if end > at:
            self._replace(at, end, strong=strong)
            return end
        if self._phrase(at, (*REMOVING, *UNSURE)) is not None and self._before(at):
            raise _NotPlain
        return at + 1

    def _cues(self, at: int) -> tuple[int, bool]:
        """Where a run of words of replacing ends, and whether they can only mean that."""
        end, strong = at, False
        while True:
            found = self._phrase(end, REPLACING)
            if found is None:
                break
            alone = self._tokens[end].folded == "no" and found == end + 1
            if alone and not self._tokens[end].after and self._phrase(found, REPLACING) is None:
                break  # "no foam" takes nothing back
            words = " ".join(token.folded for token in self._tokens[end:found])
            strong = strong or words not in WEAK_CUES
            end = found
            while end < len(self._tokens) and self._tokens[end].folded in BETWEEN_CUES:
                end += 1
        return end, strong

    def _replace(self, at: int, end: int, *, strong: bool) -> None:
        new, before = self._after(end), self._before(at)
        adds = not strong and end < len(self._tokens) and self._tokens[end].folded in ADDING
        if not before or (new is None and (adds or not self._goes_on(end))):
            return  # nothing to take back, or nothing in its place: small talk, or one thing more
        if new is None:
            raise _NotPlain
        self._strike(at, end)
        item = self._item_after(new)
        old_item = next((v for v in reversed(before) if v.kind == "item"), None)
        if item is not None and old_item is not None and old_item.names() & item.names():
            # "a small latte, no, a large latte" names the same line again.
            self._lend(old_item, item)
            parts = [v for v in self._values if new.start <= v.start and v.end <= item.start]
            for part in parts:
                self._take_over(before, part)
        elif item is not None and old_item is not None and not self._adjacent(before, new, at):
            self._replace_item(before, old_item, new, item, strong=strong)
        else:
            self._take_over(before, new, adjacent=self._adjacent(before, new, at))

    def _goes_on(self, at: int) -> bool:
        """Whether anything is named or counted in the rest of the sentence."""
        for i in range(at, len(self._tokens)):
            if any(v.start == i for v in self._values):
                return True
            if self._tokens[i].after in SENTENCE_ENDS:
                break
        return False

    def _adjacent(self, before: list[Value], new: Value, at: int) -> bool:
        """Whether the value that is taken back stands right before the correction ("two, no, three")."""
        last = before[-1]
        return new.kind != "item" and last.kind == new.kind and last.end == at

    def _replace_item(
        self, before: list[Value], old: Value, new: Value, item: Value, *, strong: bool
    ) -> None:
        own = [v for v in before if self._clause(old)[0] <= v.start and v is not old]
        if not strong or any(v.kind in ("option", "item") for v in own):
            raise _NotPlain
        self._strike(old.start, old.end)
        kinds = {v.kind for v in self._values if new.start <= v.start and v.end <= item.start}
        for value in own:
            if value.kind == "number" or value.kind in kinds:
                self._strike(value.start, value.end)

    def _take_over(self, before: list[Value], new: Value, *, adjacent: bool = False) -> None:
        """Put `new` in the place of the last value of its kind, if one belongs to the last item."""
        old = next((v for v in reversed(before) if self._same_kind(v, new, adjacent=adjacent)), None)
        if old is None or sum(v.kind == "item" and v.start >= old.end for v in before) > 1:
            if new.kind == "number":
                raise _NotPlain  # what it counts is before it, where no number was said
            return  # said for the first time: it stands where it is
        if new.kind == "option":
            # Its amount stands beside it, so it can't be read at another place; nor can the old one's stay.
            before_it = self._tokens[old.start - 1 : old.start]
            self._strike(old.start - any(token.folded in AMOUNTS for token in before_it), old.end)
        else:
            self._lend(old, new)

    def _same_kind(self, old: Value, new: Value, *, adjacent: bool) -> bool:
        """Options are of one kind within a group: any of it right beside ("swiss, no, cheddar"), else one
        that can be chosen once."""
        if old.kind != new.kind or new.kind != "option":
            return old.kind == new.kind
        groups = {group for group, _ in new.names()} & {group for group, _ in old.names()}
        return bool(groups if adjacent else groups & self._single)

    def _lend(self, old: Value, new: Value) -> None:
        """`new` said at the place of `old`: its line, its order of words."""
        if old.mention is not None and new.mention is not None:
            place = {"start": old.mention.start, "end": old.mention.end}
            self._names[old.mention] = new.mention.model_copy(update=place)
        else:
            self._numbers[old.start] = self._tokens[new.start].folded
        self._pauses[old.end - 1] = self._tokens[new.end - 1].after
        self._strike(new.start, new.end)

    def _swap(self, at: int, end: int) -> int:
        """ "Swap the whole milk for skim"."""
        old = self._after(end)
        joint = None if old is None else self._phrase(old.end, SWAPS_FOR)
        new = None if joint is None else self._after(joint)
        if old is None or new is None or old.kind != new.kind:
            raise _NotPlain
        earlier = self._earlier(old, at)
        if earlier is None:
            raise _NotPlain
        self._strike(at, old.end)
        self._strike(old.end, new.start)
        self._lend(earlier, new)
        return new.end

    def _instead(self, at: int, end: int) -> int:
        """ "Oat milk instead of whole": what is named after it was never wished for, or no longer is."""
        gone, before = self._after(end), self._before(at)
        if gone is None or not before or before[-1].kind != gone.kind:
            raise _NotPlain
        self._strike(at, gone.end)
        earlier = self._earlier(gone, at)
        if earlier is not None:
            self._lend(earlier, before[-1])
        return gone.end

    def _remove(self, at: int, gone: Value) -> int:
        earlier = self._earlier(gone, at)
        if earlier is None or gone.kind == "number":
            raise _NotPlain
        self._strike(at, gone.end)
        if earlier.kind == "item":
            start, end = self._clause(earlier)
            if sum(v.kind == "item" and start <= v.start < end for v in self._values) > 1:
                raise _NotPlain
            self._strike(start, min(end, at))
        else:
            self._strike(earlier.start, earlier.end)
        return gone.end

    def _removed(self, at: int) -> Value | None:
        """What a word of removing at `at` is about; "scratch that, ..." replaces instead."""
        end, that = self._phrase(at, REMOVING), self._phrase(at, REPLACING)
        if end is None:
            return self._refused(at)
        replaces = that is not None and that > end and self._tokens[that - 1].after
        return None if replaces else self._after(end)

    def _refused(self, at: int) -> Value | None:
        """What "no muffin" takes back: an item ordered before, or an option of a sentence before."""
        if self._tokens[at].folded not in REFUSING or self._tokens[at].after:
            return None
        gone = self._after(at + 1)
        earlier = None if gone is None else self._earlier(gone, at)
        if gone is not None and earlier is None and self._item_after(gone) is not None:
            raise _NotPlain  # "no coffee" may be "no, coffee"
        if gone is None or earlier is None or gone.kind not in ("item", "option"):
            return None
        sentences = any(token.after in SENTENCE_ENDS for token in self._tokens[earlier.end - 1 : at])
        return gone if gone.kind == "item" or sentences else None

    def _clause(self, item: Value) -> tuple[int, int]:
        """The words around an item up to the nearest joint on either side."""
        start, end = item.start, item.end
        while start > 0 and not self._tokens[start - 1].after and self._tokens[start - 1].folded not in AND:
            start -= 1
        while (
            end < len(self._tokens)
            and not self._tokens[end - 1].after
            and self._tokens[end].folded not in AND
        ):
            end += 1
        return start, end

    def _earlier(self, value: Value, at: int) -> Value | None:
        """The last mention before `at` that the words of `value` may mean."""
        return next(
            (v for v in reversed(self._before(at)) if v.kind == value.kind and v.names() & value.names()),
            None,
        )

    def _before(self, at: int) -> list[Value]:
        return [v for v in self._values if v.end <= at and not self._struck & set(range(v.start, v.end))]

    def _after(self, at: int) -> Value | None:
        """The value that follows, past articles and amounts."""
        little = ARTICLES | AMOUNTS.keys()
        while at < len(self._tokens) and at not in self._named and self._tokens[at].folded in little:
            at += 1
        return next((v for v in self._values if v.start == at), None)

    def _item_after(self, value: Value) -> Value | None:
        """The item that `value` leads to, or is: "three large" leads to the latte of "three large lattes"."""
        while value.kind != "item":
            following = next((v for v in self._values if v.start == value.end), None)
            if following is None or self._tokens[value.end - 1].after:
                return None
            value = following
        return value

    def _phrase(self, at: int, phrases: Iterable[tuple[str, ...]]) -> int | None:
        """The end of the longest of `phrases` that stands at `at`."""
        words = [token.folded for token in self._tokens[at : at + 4]]
        fits = [len(phrase) for phrase in phrases if tuple(words[: len(phrase)]) == phrase]
        return at + max(fits) if fits else None

    def _strike(self, start: int, end: int) -> None:
        self._struck |= set(range(start, end))

    def result(self) -> tuple[list[Token], list[Mention]]:
        kept: list[Token] = []
        last = -1
        for i, token in enumerate(self._tokens):
            if i in self._struck:
                # A pause stays one, though the word before it is gone.
                if token.after and kept and not kept[-1].after and last not in self._pauses:
                    kept[-1] = replace(kept[-1], after=token.after)
                continue
            after = self._pauses.get(i, token.after)
            kept.append(replace(token, folded=self._numbers.get(i, token.folded), after=after))
            last = i
        mentions = [
            self._names.get(m, m)
            for m in self._mentions
            if not self._struck & set(range(*span(self._tokens, m)))
        ]
        return kept, mentions
