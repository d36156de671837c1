"""Which of several readings of the same words holds: a size or an option, an item or a choice of the item
before."""

from __future__ import annotations

from dataclasses import replace

from schemas.menu import Menu
from services.reading.chart.chart import Chart
from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance, span
from services.reading.effort import charge
from services.reading.names.choices import chosen_as, holds_choice, joined, needed
from services.reading.names.families import general, in_one_breath, may_say_sort
from services.reading.names.lexicon import Lexicon
from services.reading.names.neighbours import (
    begins_part,
    beside,
    leading,
    lightly,
    may_stand_alone,
    measures,
    on_another,
    points_back,
    unmilked,
)
from services.reading.names.other_kinds import of_another_kind


def choose_senses(chart: Chart, _: Lexicon) -> Chart:
    """Choose one sense of words that have several: a size or an option, an item or a choice of the one
    before it."""
    standing, torn = senses(chart.left, list(chart.standing), chart.menu)
    return replace(chart, standing=tuple(standing), unsettled=chart.standing, torn=torn)


def keep_offered(chart: Chart, _: Lexicon) -> Chart:
    """Drop what an option may mean that comes with nothing that was named, where it may mean more."""
    return chart.standing_so(offered(list(chart.standing), chart.menu))


def senses(tokens: Utterance, mentions: list[Span], menu: Menu) -> tuple[list[Span], bool]:
    """Settle which of several readings of the same words hold, from left to right; True where one item may
    as well be an option of the item before it."""
    # Each is held against each, here and in the rules that are asked.
    charge(len(mentions) ** 2)
    mentions = [m for m in mentions if not of_another_kind(tokens, m, mentions, menu)]
    mentions = [m for m in mentions if not measures(tokens, m, mentions)]
    settling = _Settling(tokens, mentions, menu)
    for mention in mentions:
        settling.add(mention)
    return settling.kept, settling.torn


class _Settling:
    """The mentions that were kept so far, and what the item named last comes with: the groups `offered`, and
    of those the ones that are `filled`. `torn` says that a choice may as well be an item."""

    def __init__(self, tokens: Utterance, mentions: list[Span], menu: Menu) -> None:
        self._tokens, self._mentions, self._menu = tokens, mentions, menu
        items = [m for m in mentions if m.kind == "item"]
        named = {sku for m in items for sku in m.ids}
        self._groups_of = {item.sku: {*item.option_groups} for item in menu.items if item.sku in named}
        self._single = menu.choose_one
        self._strong_items = [m for m in items if m.strong]
        self._offered: set[str] = set()
        self._filled: set[str] = set()
        self._last_item_end = 0
        # Where the words since the last name begin.
        self._since = 0
        self.kept: list[Span] = []
        self.torn = False

    def add(self, mention: Span) -> None:
        """Keep the next mention, if it holds where it stands."""
        first, end = span(self._tokens, mention)
        if begins_part(self._tokens, self._since, first):
            self._filled = set()  # the next of several may have a side of its own
        if mention.kind != "size":
            self._since = end
        twins = self._twins(mention)
        if not twins and self._says_sort(mention):
            return
        if mention.kind == "item":
            self._add_item(mention, twins)
        elif mention.kind == "option":
            self._add_option(mention, twins)
        else:
            self.kept.append(mention)

    def _twins(self, mention: Span) -> list[Span]:
        """Other readings of the same words."""
        place = (mention.start, mention.end)
        return [m for m in self._mentions if m is not mention and (m.start, m.end) == place]

    @property
    def _open(self) -> set[str]:
        """Groups of the last item of which a choice may be made yet."""
        return self._offered - self._filled

    def _says_sort(self, mention: Span) -> bool:
        """Whether a name only says the sort of the one right before it; where it is the other way round, that
        one goes."""
        if not self.kept or not in_one_breath(self._tokens, self.kept[-1], mention):
            return False
        before = self.kept[-1]
        self._doubt(may_say_sort(self._tokens, mention, before, self._mentions))
        if (surely := general(self._tokens, mention, before, self._menu)) is not None:
            self._doubt(not surely)
            return True
        if (
            mention.kind == "item"
            and (surely := general(self._tokens, before, mention, self._menu)) is not None
        ):
            self._doubt(not (surely and mention.strong))
            if mention.strong:
                self.kept.pop()  # a part of a name orders nothing here, and both would be lost
        return False

    def _doubt(self, torn: bool) -> None:
        self.torn = self.torn or torn

    def _add_item(self, mention: Span, twins: list[Span]) -> None:
        if self._is_option_here(mention, twins) or self._is_chosen(mention) or self._is_no_order(mention):
            return
        tokens, mentions = self._tokens, self._mentions
        if holds_choice(tokens, mention, self.kept, self._offered, mentions):
            self.torn = True
            return
        self._doubt(lightly(tokens, mention, mentions) or on_another(tokens, mention))
        self._offered = set().union(*(self._groups_of[sku] for sku in mention.ids))
        self._filled, self._last_item_end = set(), mention.end
        self.kept.append(mention)

    def _is_option_here(self, mention: Span, twins: list[Span]) -> bool:
        """Whether an item's name is an option of the item before it: "a combo with a cola"."""
        groups = {g for m in twins if m.kind == "option" for g in m.groups} & self._open
        if not groups:
            return False
        lead = leading(self._tokens, self._mentions, mention, self._last_item_end)
        if not lead.counted:
            self._doubt(not lead.goes_on or may_stand_alone(self._tokens, mention, groups, self._menu))
        return not lead.counted

    def _is_chosen(self, mention: Span) -> bool:
        """Whether an item's name belongs to the choice before it: "with vanilla ice cream"."""
        choice = chosen_as(self._tokens, mention, self.kept, self._open, self._groups_of)
        if choice is None:
            return False
        self._doubt(not needed(choice, self.kept, self._menu))
        self.kept[-1] = joined(choice, mention)
        return True

    def _is_no_order(self, mention: Span) -> bool:
        """Whether a part of an item's name orders nothing: it is of a name beside it, or points back."""
        if mention.strong:
            return False
        tokens = self._tokens
        return (
            beside(tokens, mention, self._strong_items)
            or points_back(tokens, mention, self._mentions)
            or unmilked(tokens, span(tokens, mention)[0], self._mentions)
        )

    def _add_option(self, mention: Span, twins: list[Span]) -> None:
        items = [m for m in twins if m.kind == "item"]
        if items and (not self._open.intersection(mention.groups) or items[0] in self.kept):
            return
        if items and leading(self._tokens, self._mentions, mention, self._last_item_end).counted:
            return
        self._filled |= self._single.intersection(mention.groups)
        self.kept.append(mention)


def offered(mentions: list[Span], menu: Menu) -> list[Span]:
    """The mentions; an option without the readings that nothing named comes with, where it has others."""
    skus = {sku for m in mentions if m.kind == "item" for sku in m.ids}
    groups = {group for item in menu.items if item.sku in skus for group in item.option_groups}
    return [narrowed(m, groups) if m.kind == "option" else m for m in mentions]


def narrowed(mention: Span, groups: set[str]) -> Span:
    """An option's readings of these groups; all of them where none is of these."""
    pairs = [pair for pair in zip(mention.groups, mention.ids, strict=True) if pair[0] in groups]
    if len(pairs) in (0, len(mention.ids)):
        return mention
    return replace(mention, groups=tuple(g for g, _ in pairs), ids=tuple(i for _, i in pairs))
