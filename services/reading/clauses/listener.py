"""What one clause of an order names and counts, seen beside what was told before it."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.mentions import Name
from services.reading.chart.tokens import Utterance, span
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Choices, Said, meant
from services.reading.clauses.tally import Tally
from services.reading.language.english import AMOUNTS, OTHERS, UNWISHED
from services.reading.names.lexicon import Lexicon
from services.reading.values.amounts import options_heard
from services.reading.values.numbers import Number

_CHANGING = ("swap", "instead", "not", "remove")
_OF_US = frozenset("there were are is be".split())
_NO_NUMBER = frozenset("that this the which other little loved".split())


@dataclass(frozen=True, slots=True)
class Listener:
    """Tells what a clause says. `odd` are positions of words that nothing accounts for; `settled` the
    readings that hold where nothing is changed ("a coke" after a combo is its drink)."""

    tokens: Utterance
    settled: list[Mention]
    numbers: list[Number]
    odd: frozenset[int]
    menu: Menu
    lexicon: Lexicon

    def said(self, clause: Clause, tally: Tally, *, changes: bool) -> Said:
        """What `clause` says; `changes` when it is to take the place of something."""
        names = [n for n in clause.names if not self._stranger(n, clause)]
        item = next(
            (n for n in names if self.is_item(n) and not self._chosen(n, clause, tally, changes)), None
        )
        if item is None and not tally.wishes:
            item = next((known for n in names if (known := self._first_word(n, clause)) is not None), None)
        rest = [n for n in names if item is None or (n.start != item.start and not self._again(n, item))]
        options = [m for n in rest if (m := self._option(n)) is not None and self._fits(m, item, tally)]
        sizes = [m for n in rest if (m := n.of("size")) is not None and self._option(n) is None]
        if item is not None and (own := item.of("size")) is not None:
            sizes.insert(0, own)  # an item that is only said by its size
        inside = [n for n in self.numbers if clause.body <= n.start and n.end <= clause.end]
        inside = [n for n in inside if not self._idle(n)]
        listed = [*self._listed(clause, options), *options]
        heard, counting = options_heard(self.tokens, listed, self.settled, inside, self.menu)
        number = next((n for n in inside if n not in counting and n.likely), None)
        words = tuple(token.folded for token in self.tokens[clause.body : clause.end])
        if number is None and item is None and inside and _parts(clause, inside[0], tally, words):
            number = inside[0]
            heard = [o.model_copy(update={"counts": (1,)}) for o in heard]
        if number is None and item is not None and inside and inside[0] not in counting:
            number = inside[0]  # "to lattes"
        chosen = tuple(meant(m, heard) for m in options)
        return Said(item, tuple(m.ids[0] for m in sizes), chosen, number, words)

    def _again(self, name: Name, item: Name) -> bool:
        """ "Fries, cajun on the fries": the same item, to say what is on it."""
        mention, first = name.of("item"), item.of("item")
        led = [t.folded for t in self.tokens[max(name.start - 2, 0) : name.start]] in (
            ["on", "the"],
            ["in", "the"],
        )
        return led and mention is not None and first is not None and set(mention.ids) <= set(first.ids)

    def _listed(self, clause: Clause, options: list[Mention]) -> list[Mention]:
        """Options right before a clause, of whose list it may go on: "no lettuce, tomato or onion"."""
        found: list[Mention] = []
        at = clause.start
        while at > 0 and self.tokens[at - 1].folded in ("and", "or", "nor", "the"):
            at -= 1
        while at > 0 and options:
            before = next((m for m in self.settled if span(self.tokens, m)[1] == at), None)
            if before is None or before.kind != "option" or any(before.ids == m.ids for m in options):
                break
            found.insert(0, before)
            at = span(self.tokens, before)[0]
        # The "no" that a list begins with stands before its first name.
        return found

    def _option(self, name: Name) -> Mention | None:
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

    def _stranger(self, name: Name, clause: Clause) -> bool:
        """Whether words only happen to be like a name: "shoot" is no shot, and nobody on a diet has a diet
        cola. A guess counts where something leads to it."""
        before = self.tokens[name.start - 1].folded if name.start > clause.body else ""
        sizes = {n.end for n in clause.names if n.of("size")}
        if all(m.guessed for m in name.readings):
            last = self.tokens[name.end - 1]
            if name.end < clause.end and name.end in self.odd and not last.after:
                return True  # "a corn dog" is no cone
            led = before in AMOUNTS or before in ("with", "a", "an", "and") or name.start in sizes
            numbered = any(n.end == name.start and not self._idle(n) for n in self.numbers)
            return not (led or numbered or (name.start, name.end) == (clause.body, clause.end))
        if name.start - 1 in self.odd and not self.tokens[name.start - 1].after and _unsure(name):
            return True  # "hash browns" are no brownies
        if before in OTHERS and name.of("size") is not None:
            return True  # "for my big guy"
        mention = name.of("item")
        if mention is None or mention.strong or len(name.readings) > 1:
            return False
        placed = name.start - clause.body > 1 and self.tokens[name.start - 2].folded in ("on", "in")
        several = len(mention.ids) > 1 and self.tokens[name.end : name.end + 1]
        told = [t.folded for t in self.tokens[max(name.start - 2, 0) : name.start]]
        passing = told[1:] == ["a"] and told[0] in ("it", "its", "thats", "been", "is", "was")
        pronoun = (several or passing) and [t.folded for t in self.tokens[name.end : name.end + 1]] == ["1"]
        return (placed and before in ("a", "an")) or bool(pronoun)

    def _fits(self, mention: Mention, item: Name | None, tally: Tally) -> bool:
        """Whether an option can be meant: goat cheese is no cheese, and a mere part of a name means nothing
        where nothing ordered comes with it."""
        named = item.of("item") if item is not None else None
        offered = tally.groups(named.ids) if named else set()
        held = sum(any(tally.offers(wish, group) for wish in tally.wishes) for group in mention.groups)
        before = span(self.tokens, mention)[0] - 1
        kind = before in self.odd and not self.tokens[before].after
        kind = kind and self.tokens[before].folded != "except"
        fitting = len(offered & set(mention.groups)) if named else held
        return not kind and (mention.strong or fitting == 1)

    def _idle(self, number: Number) -> bool:
        """Whether a number counts nothing that is wished for: "that one", "we're five people"."""
        last = self.tokens[number.start - 1] if number.start else None
        before = last.folded if last is not None and not last.after else ""
        after = self.tokens[number.end].folded if number.end < len(self.tokens) else ""
        follows = self.tokens[number.end].start if after else -1
        if any(m.kind == "item" and m.start == follows for m in self.settled):
            return False
        ours = [t.folded for t in self.tokens[number.end : number.end + 2]] == ["of", "us"]
        if (ours and before in _OF_US) or (number.value == 1 and before in _NO_NUMBER):
            return True  # "there's four of us"
        return after in UNWISHED | self.lexicon.choices

    def _first_word(self, name: Name, clause: Clause) -> Name | None:
        """ "A large pepperoni" where there is a pepperoni pizza, and one only."""
        choice = name.of("option")
        before = self.tokens[name.start - 1].folded if name.start > clause.body else ""
        sized = any(n.of("size") and n.end == name.start for n in clause.names)
        after = self.tokens[name.end].folded if name.end < len(self.tokens) else ""
        if choice is None or not (sized or before in ("a", "an") or before.isdigit()):
            return None
        if name.end in self.odd or after == "1":
            return None  # "a hot dog" and "a hot one" are no hot chocolate
        said = [t.folded for t in self.tokens[name.start : name.end]]
        items = {sku for known, sku in self.lexicon.items(*said) if list(known[: len(said)]) == said}
        if len(items) != 1:
            return None
        meant = choice.model_copy(update={"kind": "item", "ids": tuple(items), "groups": ()})
        return Name(name.start, name.end, (meant,))

    def _chosen(self, name: Name, clause: Clause, tally: Tally, changes: bool) -> bool:
        """Whether a name that may be either is a choice of what is spoken of."""
        choice = name.of("option")
        if choice is None:
            return False
        item = name.of("item")
        if clause.cue == "remove" and item is not None and tally.of_item(item.ids):
            return False
        before = [t.folded for t in self.tokens[clause.body : name.start]]
        with_it = "with" in before or (tally.total > 1 and before[-1:] == ["get"])  # "one gets a cola"
        with_it = with_it or [t.folded for t in self.tokens[name.end : name.end + 2]] == ["to", "drink"]
        counted = name.start - 1 == clause.body and self.tokens[clause.body].folded.isdigit()
        if counted and tally.total > 1 and _next_kind(choice, tally):
            return True
        if not (changes or clause.cue in _CHANGING or (with_it and not clause.item_before(name))):
            return False
        return any(tally.offers(wish, group) for wish in tally.focus for group in choice.groups)


def _next_kind(choice: Mention, tally: Tally) -> bool:
    """ "Two boxes, one lamb, one kofte": whether the part before was told apart by such a choice, of which
    one can be had."""
    if tally.rest is None or not tally.focus:
        return False
    told = {group for group, _ in tally.focus[-1].options if tally.single(group)}
    return bool(told.intersection(choice.groups)) and any(
        tally.offers(tally.rest, group) for group in choice.groups
    )


def _parts(clause: Clause, first: Number, tally: Tally, words: tuple[str, ...]) -> bool:
    """ "One pepperoni and two mushroom" tells three pizzas apart, and counts no mushrooms."""
    if any(word in ("each", "every") for word in words):
        return False  # "two sugars in each"
    return first.start == clause.body and 0 < first.value < tally.total


def _unsure(name: Name) -> bool:
    """Whether a single word only sounds like a name."""
    return name.end - name.start == 1 and all(m.score < 1 and m.kind == "item" for m in name.readings)
