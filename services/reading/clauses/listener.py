"""What one clause of an order names and counts, seen beside what was ordered before it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from schemas.menu import Menu
from services.reading.chart.mentions import Name, phrase_end
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance, span
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Choices, Said, meant
from services.reading.clauses.cues import Cue
from services.reading.clauses.strangers import Strangers
from services.reading.clauses.tally import Tally
from services.reading.names.lexicon import Lexicon
from services.reading.values.amounts import options_heard

# After these a name that may be an item or a choice is rather a choice of what stands.
_CHANGING = (Cue.SWAP, Cue.INSTEAD, Cue.NOT, Cue.REMOVE)


@dataclass(frozen=True)
class Listener:
    """Tells what a clause says. `odd` are positions of words that nothing accounts for; `settled` the
    readings that hold where nothing is changed ("a coke" after a combo is its drink)."""

    tokens: Utterance
    settled: list[Span]
    numbers: list[Number]
    odd: frozenset[int]
    menu: Menu
    lexicon: Lexicon

    @cached_property
    def _strangers(self) -> Strangers:
        return Strangers(self.tokens, self.settled, self.numbers, self.odd, self.lexicon)

    def said(self, clause: Clause, tally: Tally, *, changes: bool) -> Said:
        """What `clause` says; `changes` when it is to take the place of something."""
        names = [n for n in clause.names if not self._strangers.name(n, clause)]
        item = self._item(names, clause, tally, changes)
        rest = [n for n in names if item is None or not self._is_it(n, item)]
        options = self._options(rest, item, tally)
        inside = self._numbers(clause)
        listed = [*self._listed(clause, options), *options]
        heard, counting = options_heard(self.tokens, listed, self.settled, inside, self.menu)
        words = tuple(token.folded for token in self.tokens[clause.body : clause.end])
        number = _number(inside, counting, item)
        if number is None and item is None and inside and self._parts(clause, inside[0], tally, words):
            number = inside[0]
            heard = [o.model_copy(update={"counts": (1,)}) for o in heard]
        chosen = tuple(meant(m, heard) for m in options)
        return Said(item, self._sizes(rest, item), chosen, number, words)

    def _numbers(self, clause: Clause) -> list[Number]:
        """The numbers in a clause that may count what is wished for."""
        inside = [n for n in self.numbers if clause.body <= n.start and n.end <= clause.end]
        return [n for n in inside if not self._strangers.number(n)]

    def _options(self, names: list[Name], item: Name | None, tally: Tally) -> list[Span]:
        """The options that are named, as far as they fit the item or what was ordered."""
        return [m for n in names if (m := self._option(n)) is not None and self._fits(m, item, tally)]

    def _item(self, names: list[Name], clause: Clause, tally: Tally, changes: bool) -> Name | None:
        """The first name that is an item, and no choice of what is spoken of."""
        for name in names:
            if self.is_item(name) and not self._chosen(name, clause, tally, changes):
                return name
        if tally.wishes:
            return None
        return next((known for n in names if (known := self._first_word(n, clause)) is not None), None)

    def _sizes(self, names: list[Name], item: Name | None) -> tuple[str, ...]:
        """The sizes that are named; first that of an item which is only said by its size."""
        own = item.of("size") if item is not None else None
        sizes = [m for n in names if (m := n.of("size")) is not None and self._option(n) is None]
        return tuple(m.ids[0] for m in ([own] if own is not None else []) + sizes)

    def _is_it(self, name: Name, item: Name) -> bool:
        """Whether a name is the item's, or says it again: "fries, cajun on the fries"."""
        return name.start == item.start or self._again(name, item)

    def _again(self, name: Name, item: Name) -> bool:
        """ "Fries, cajun on the fries": the same item, to say what is on it."""
        mention, first = name.of("item"), item.of("item")
        if mention is None or first is None or name.start < 2:
            return False
        on, the = (token.folded for token in self.tokens[name.start - 2 : name.start])
        words = self.tokens.language
        return on in words.placing and the in words.definite_articles and set(mention.ids) <= set(first.ids)

    def _listed(self, clause: Clause, options: list[Span]) -> list[Span]:
        """Options right before a clause, of whose list it may go on: "no lettuce, tomato or onion"."""
        found: list[Span] = []
        at = clause.start
        while at > 0 and self.tokens[at - 1].folded in self.tokens.language.between_listed:
            at -= 1
        while at > 0 and options:
            before = next((m for m in self.settled if span(self.tokens, m)[1] == at), None)
            if before is None or before.kind != "option" or any(before.ids == m.ids for m in options):
                break
            found.insert(0, before)
            at = span(self.tokens, before)[0]
        # The "no" that a list begins with stands before its first name.
        return found

    def _option(self, name: Name) -> Span | None:
        """Its reading as an option, unless it is settled that a size is meant."""
        option, size = name.of("option"), name.of("size")
        return None if size in self.settled and option not in self.settled else option

    def options(self, name: Name) -> Choices:
        """What a name means as an option, with the amount beside it."""
        mention = name.of("option")
        heard, _ = options_heard(self.tokens, [mention] if mention else [], self.settled, [], self.menu)
        return tuple(heard)

    def is_item(self, name: Name) -> bool:
        """Whether a name is read as an item where nothing is changed."""
        mention = name.of("item")
        return mention is not None and (mention in self.settled or name.of("option") is None)

    def _fits(self, mention: Span, item: Name | None, tally: Tally) -> bool:
        """Whether an option can be meant: a mere part of a name means nothing where nothing ordered comes
        with it."""
        if self._of_another_kind(mention):
            return False
        if mention.strong:
            return True
        named = item.of("item") if item is not None else None
        if named:
            return len(tally.groups(named.ids) & set(mention.groups)) == 1
        return sum(any(tally.offers(wish, group) for wish in tally.wishes) for group in mention.groups) == 1

    def _of_another_kind(self, mention: Span) -> bool:
        """Goat cheese is no cheese; "everything except onions" has no such word before it."""
        before = span(self.tokens, mention)[0] - 1
        if before not in self.odd or self.tokens[before].after:
            return False
        return self.tokens[before].folded not in self.tokens.language.excepting

    def _first_word(self, name: Name, clause: Clause) -> Name | None:
        """ "A large pepperoni" where there is a pepperoni pizza, and one only."""
        choice = name.of("option")
        if choice is None or not self._is_counted(name, clause):
            return None
        if name.end in self.odd or self._strangers.word(name.end) in self.tokens.language.ones:
            return None  # "a hot dog" and "a hot one" are no hot chocolate
        said = [t.folded for t in self.tokens[name.start : name.end]]
        items = {sku for known, sku in self.lexicon.items(*said) if list(known[: len(said)]) == said}
        if len(items) != 1:
            return None
        mention = replace(choice, kind="item", ids=tuple(items), groups=())
        return Name(name.start, name.end, (mention,))

    def _is_counted(self, name: Name, clause: Clause) -> bool:
        """Whether a size, an article or a number leads to a name."""
        if any(n.of("size") and n.end == name.start for n in clause.names):
            return True
        before = self.tokens[name.start - 1].folded if name.start > clause.body else ""
        return before in self.tokens.language.indefinite_articles or before.isdigit()

    def _chosen(self, name: Name, clause: Clause, tally: Tally, changes: bool) -> bool:
        """Whether a name that may be either is a choice of what is spoken of."""
        choice, item = name.of("option"), name.of("item")
        if choice is None:
            return False
        if clause.cue is Cue.REMOVE and item is not None and tally.of_item(item.ids):
            return False
        if self._counts_part(name, clause) and tally.total > 1 and _next_kind(choice, tally):
            return True
        changes = changes or clause.cue in _CHANGING
        if not changes and not self._with_it(name, clause, tally):
            return False
        return any(tally.offers(wish, group) for wish in tally.focus for group in choice.groups)

    def _counts_part(self, name: Name, clause: Clause) -> bool:
        """ "One lamb": whether a clause is a number and the name."""
        return name.start - 1 == clause.body and self.tokens[clause.body].folded.isdigit()

    def _with_it(self, name: Name, clause: Clause, tally: Tally) -> bool:
        """Whether a name is had with something: "with a cola", "one gets a cola", "a cola to drink"."""
        words = self.tokens.language
        before = [t.folded for t in self.tokens[clause.body : name.start]]
        if not words.accompanying.isdisjoint(before):
            return True
        if tally.total > 1 and before and before[-1] in words.getting:
            return True
        return phrase_end(self.tokens, name.end, words.to_drink) is not None

    def _parts(self, clause: Clause, first: Number, tally: Tally, words: tuple[str, ...]) -> bool:
        """ "One pepperoni and two mushroom" tells three pizzas apart, and counts no mushrooms; "two sugars in
        each" does."""
        shared = not self.tokens.language.distributive.isdisjoint(words)
        return not shared and first.start == clause.body and 0 < first.value < tally.total


def _number(inside: list[Number], counting: Collection[Number], item: Name | None) -> Number | None:
    """The number that counts what a clause names, of those `inside` it; those `counting` count options."""
    likely = next((n for n in inside if n not in counting and n.likely), None)
    if likely is None and item is not None and inside and inside[0] not in counting:
        return inside[0]  # "to lattes"
    return likely


def _next_kind(choice: Span, tally: Tally) -> bool:
    """ "Two boxes, one lamb, one kofte": whether the part before was told apart by such a choice, of which
    one can be had."""
    if tally.rest is None or not tally.focus:
        return False
    told = {group for group, _ in tally.focus[-1].options if tally.single(group)}
    return bool(told.intersection(choice.groups)) and any(
        tally.offers(tally.rest, group) for group in choice.groups
    )
