"""What a clause adds to an order that is being told: lines, and parts of lines."""

from __future__ import annotations

from schemas.cart import MAX_QUANTITY, Amount
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Lost, Pointer
from services.reading.clauses.restating import Restater
from services.reading.clauses.tally import Tally, Wish
from services.reading.values.numbers import is_plural


class Adder:
    """Adds to the tally what clauses order."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._tokens, self._menu = listener.tokens, listener.menu
        self._words = listener.tokens.language
        self._tally, self._pointer = tally, pointer
        self._early: list[Said] = []  # what was said before any item
        self._uncounted: Wish | None = None  # a plural whose number is still to come: "burgers, two"
        self.restater = Restater(listener, tally)
        self._head: tuple[int, Said] | None = None  # how many are still to come, and what holds for all

    @property
    def waiting(self) -> bool:
        """Whether something was said for which no item came."""
        return any(said.options for said in self._early) or self._uncounted in self._tally.wishes

    def forget(self) -> None:
        """Drop what waits for an item."""
        self._early.clear()

    def early(self, said: Said, *, replaces: bool) -> None:
        """Keep what is said before any item ("four, I mean five, croissants")."""
        if replaces and not (said.options or said.sizes):
            self._early = [known for known in self._early if known.options or known.sizes]
        if said.options or said.number or said.sizes:
            self._early.append(said)

    def item(self, clause: Clause, said: Said, *, replaces: bool) -> None:
        """Order an item, or say more of one that is ordered; `replaces` what was said last.

        Raises:
            Lost: how many, or of which line, can't be told.
        """
        assert said.item is not None
        if self._is_talk(clause, said):
            return
        if replaces:  # "a regular, no, a large milkshake"
            self._early = [known for known in self._early if not (known.sizes and said.sizes)]
        counted = said.number is not None or self._pointer.article(clause, said.item.start)
        wish = self._known(clause, said, counted=counted, replaces=replaces)
        if wish is None:
            wish = self._new(said, counted=counted, replaces=replaces)
        elif said.number is not None:
            wish.quantity = said.number.value
        if (shares := self._each_one(clause, said)) and wish.quantity == 1:
            wish.quantity = shares  # "and we both want a large coke"
        if wish.quantity > MAX_QUANTITY:
            raise Lost
        self._pointer.give([wish], said)
        self._head_of(wish, said, counted=counted)
        self._give_early(wish, said, counted=counted)

    def _give_early(self, wish: Wish, said: Said, *, counted: bool) -> None:
        """Give a line what was said before it: "four, I mean five, croissants"."""
        for early in self._early:
            if early.sizes and said.sizes:  # "a large and a small margherita"
                another = Wish(said.skus, wish.at, early.number.value if early.number else 1)
                self._tally.wishes.insert(self._tally.wishes.index(wish), another)
                self._tally.group = [another, *self._tally.group]
                self._pointer.give([another], early)
                continue
            self._pointer.give([wish], early)
            wish.quantity = early.number.value if early.number and not counted else wish.quantity
        self._early.clear()

    def _leading(self, clause: Clause, said: Said) -> list[str]:
        """The words of a clause before its item."""
        assert said.item is not None
        return [token.folded for token in self._tokens[clause.body : said.item.start]]

    def _is_talk(self, clause: Clause, said: Said) -> bool:
        """ "That coffee at work upset my stomach": of something that nobody ordered here."""
        leading = self._leading(clause, said)
        others = bool(leading) and leading[-1] in self._words.others
        return others and not self._tally.of_item(said.skus) and clause.lead not in self._words.conjunctions

    def _each_one(self, clause: Clause, said: Said) -> int:
        """How many are wished for where each of us wants one: "we both want a cola", "and a tea each"; 0
        if not."""
        assert said.item is not None
        before = self._leading(clause, said)
        if not self._words.dual.isdisjoint(before) and not self._words.plural_persons.isdisjoint(before):
            return 2
        last = self._ends_with_each(clause) and self._pointer.article(clause, said.item.start)
        return sum(wish.quantity for wish in self._tally.wishes[:-1]) if last else 0

    def _ends_with_each(self, clause: Clause) -> bool:
        """ "A tea each", "a tea each of them"."""
        words = [token.folded for token in self._tokens[clause.body : clause.end]]
        of, them = self._words.partitive, self._words.plural_pronouns
        if len(words) > 2 and words[-2] in of and words[-1] in them:
            words = words[:-2]
        return bool(words) and words[-1] in self._words.distributive

    def refuses(self, clause: Clause, said: Said) -> bool:
        """ "No muffin", "skip the fries": take a line back that was ordered; False where nothing is
        refused."""
        if said.item is None:
            return False
        leading = self._leading(clause, said)
        nearest = next((w for w in reversed(leading) if w not in self._words.articles), "")
        if self._words.amounts.get(nearest) is not Amount.NONE:
            return False
        known = self._tally.of_item(said.skus)
        if known:
            self._tally.drop(known[0])
            return True
        return leading[-1] in self._words.articles or self._is_denied(clause, said, leading)

    def _is_denied(self, clause: Clause, said: Said, leading: list[str]) -> bool:
        """ "Scampi, no chips": a thing that nobody ordered is refused, where "no" is no correction."""
        assert said.item is not None
        no = len(leading) == 1 and (leading[0],) in self._words.replacing
        return no and said.item.end == clause.end and clause.lead == "," and bool(self._tally.wishes)

    def counts_late(self, said: Said) -> bool:
        """ "Burgers, two": give a plural the number that was still to come; False where none waits."""
        late = self._uncounted
        if late is None or said.item is not None or said.number is None:
            return False
        late.quantity, self._uncounted = said.number.value, None
        self._tally.focus_on(late)
        self._pointer.give([late], said)
        return True

    def same_size(self, size: str) -> None:
        """ "The same size": of what was just ordered without one, or of what comes next."""
        last = self._tally.wishes[-1]
        if last.size is None and self._tally.sized(last, size):
            last.size = size
        else:
            self.early(Said(sizes=(size,)), replaces=False)

    def turned(self, said: Said) -> tuple[str, ...]:
        """The item that "two chai lattes, both iced" are: of several that a part of a name may mean, the
        one that goes on from what is spoken of."""
        mention = said.item.of("item") if said.item is not None else None
        if mention is None or mention.strong or len(said.skus) < 2:
            return ()
        counted = not self._words.indefinite_articles.isdisjoint(said.words[1:-1])
        spoken = self._tally.focus[-1] if self._tally.focus else None
        if counted or spoken is None or not spoken.items:
            return ()
        kin = self._kin(spoken, said.skus)
        return kin if len(kin) == 1 and kin != spoken.items else ()

    def _head_of(self, wish: Wish, said: Said, *, counted: bool) -> None:
        """ "Three six inch subs, a ham, a tuna and a club": what is said of all at first holds for each."""
        first = self._early[0] if len(self._early) == 1 else None
        number = first.number.value if first is not None and first.number is not None else 0
        if first is not None and counted and not said.sizes and number > wish.quantity:
            self._head, self._early = (number, first), []
        if self._head is None:
            return
        left = self._head[0] - wish.quantity
        if left >= 0 and not said.sizes:
            self._pointer.give([wish], self._head[1])
        self._head = (left, self._head[1]) if left > 0 else None

    def _known(self, clause: Clause, said: Said, *, counted: bool, replaces: bool) -> Wish | None:
        """The line that is spoken of again, or that waits for its kind or number; None for a new one."""
        tally, last = self._tally, self._tally.wishes[-1] if self._tally.wishes else None
        if last is not None and len(last.items) > 1 and set(last.items) & set(said.skus):
            # "Two muffins, blueberry": which one was open.
            wish = tally.part(last, said.number.value if said.number else 1 if counted else last.quantity)
            wish.items = tuple(sku for sku in last.items if sku in said.skus)
            return wish
        several = self._is_several(said)
        if several and not tally.of_item(said.skus):
            self._uncounted = self._new(said, counted=False, replaces=replaces)
            return self._uncounted
        early = bool(self._early)
        return self.restater.line(clause, said, counted, several=several, replaces=replaces, early=early)

    def _is_several(self, said: Said) -> bool:
        """ "Burgers": a plural whose number was not said; "ten piece wings" have one."""
        mention = said.item.of("item") if said.item is not None else None
        if said.number is not None or mention is None or self._early:
            return False
        return is_plural(mention, self._menu) and not (said.sizes and said.has(self._words.pieces))

    def _new(self, said: Said, *, counted: bool, replaces: bool) -> Wish:
        tally, last = self._tally, self._tally.wishes[-1] if self._tally.wishes else None
        assert said.item is not None
        place, quantity = (said.item.start, said.item.end), said.number.value if said.number else 1
        if not replaces or last is None:
            return tally.add(Wish(said.skus, place, quantity))
        wish = Wish(self._kin(last, said.skus), place, quantity)
        if not counted:
            wish.quantity, wish.size = last.quantity, last.size
            wish.options = {c: v for c, v in last.options.items() if tally.offers(wish, c[0])}
        tally.drop(last)
        return tally.add(wish)

    def _kin(self, old: Wish, skus: tuple[str, ...]) -> tuple[str, ...]:
        """Of several items that a part of a name may mean, the one that goes on from the old one: after a
        cheeseburger "the combo" is the cheeseburger combo."""
        own = set().union(*(self._tally.words(sku) for sku in old.items))
        kin = tuple(sku for sku in skus if own and own <= self._tally.words(sku))
        return kin if len(skus) > 1 and len(kin) == 1 else skus
