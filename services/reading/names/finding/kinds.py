"""Kinds of a thing that are said without it: "five cookies: three chocolate chip, two oatmeal", "a blueberry
muffin and a lemon one"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from services.reading.chart.chart import Chart
from services.reading.chart.span import EXACT, Span, found
from services.reading.chart.tokens import Token, Utterance
from services.reading.effort import charge
from services.reading.language.language import Language
from services.reading.names.lexicon import Lexicon

Words = tuple[str, ...]
# Names of items that hold a word, with their ids.
Named = Callable[[str], list[tuple[Words, str]]]


def kinds_of_things(chart: Chart, lexicon: Lexicon) -> Chart:
    """Kinds of a thing that was named before, said without its name: after several things in the plural
    where a pause, a joint or the next number closes them; after one of it where "one" stands for the name."""
    return chart.competing(_kinds(chart.words, chart.standing, lexicon.items))


def _kinds(tokens: Utterance, standing: Iterable[Span], named: Named) -> Iterator[Span]:
    items = [span for span in standing if span.kind == "item"]
    whole = _whole(items)
    ends = {core[-1] for core in whole if core[1:]}
    places: dict[str, list[int]] = defaultdict(list)
    for i, token in enumerate(tokens):
        places[token.folded].append(i)
    for at, several in _things(tokens, whole, named):
        counted = at not in ends and any(t.folded.isdigit() for t in tokens[max(at - 2, 0) : at])
        for kind, ref in several:
            begins = places.get(kind[0], [])
            charge(1 + len(begins))
            for core in _said_after(tokens, at, kind, begins):
                if stands := _kind_of(tokens, core, core in whole, counted):
                    yield found(tokens, stands, ("item", "", ref), EXACT, "kind_of", on=_at(at, items))
    yield from _of_named_first(tokens, items, whole, named, places)


def _whole(items: list[Span]) -> set[tuple[int, ...]]:
    """Where items were said by their whole names."""
    return {span.core for span in items if span.score >= EXACT}


def _at(at: int, items: list[Span]) -> list[Span]:
    """The items that the token at `at` is of."""
    return [span for span in items if at in span.core]


def _of_named_first(
    tokens: Utterance,
    items: list[Span],
    whole: set[tuple[int, ...]],
    named: Named,
    places: Mapping[str, list[int]],
) -> Iterator[Span]:
    """Kinds said without a thing that stands first in their names: "a taco al pastor and one de lengua"."""
    for at, several in _headed(tokens, whole, named):
        for kind, ref in several:
            begins = places.get(kind[0], [])
            charge(1 + len(begins))
            for core in _said_after(tokens, at, kind, begins):
                if core not in whole and _is_one_more(tokens, core):
                    yield found(tokens, core, ("item", "", ref), EXACT, "kind_of", on=_at(at, items))


def _things(
    tokens: Utterance, whole: set[tuple[int, ...]], named: Named
) -> Iterator[tuple[int, list[tuple[Words, str]]]]:
    """Where a word stands that closes names, with what is before it in each of them, and whose they are; not
    inside of one that was said `whole`."""
    inside = {i for core in whole for i in core[:-1]}
    for at, token in enumerate(tokens):
        if at in inside or token.folded in tokens.language.no_things:
            continue
        holding = named(token.folded)
        charge(len(holding))
        yield at, [(name[:-1], ref) for name, ref in holding if name[-1] == token.folded and name[1:]]


def _headed(
    tokens: Utterance, whole: set[tuple[int, ...]], named: Named
) -> Iterator[tuple[int, list[tuple[Words, str]]]]:
    """Where a name ends that was said `whole` and begins with the thing, with what follows the thing in each
    name that does, and whose they are: "de lengua", after a "taco al pastor"."""
    leads = tokens.language.before_kinds
    for core in whole if leads else ():
        thing = tokens[core[0]].folded
        holding = named(thing)
        charge(len(holding))
        yield (
            core[-1],
            [(name[1:], ref) for name, ref in holding if name[0] == thing and leads.intersection(name[1:2])],
        )


def _is_one_more(tokens: Utterance, core: tuple[int, ...]) -> bool:
    """Whether a number or article right before a kind makes it one more thing: "and one de lengua"."""
    before, said = tokens[core[0] - 1], tokens.language
    led = before.folded.isdigit() or before.folded in said.indefinites
    return led and not before.after and _is_closed(tokens, core[-1] + 1)


def _said_after(tokens: Utterance, at: int, kind: Words, places: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Where a kind's words stand in one breath after the token at `at`; they begin at one of `places`."""
    for i in places:
        core = tuple(range(i, i + len(kind)))
        if not at < i <= len(tokens) - len(kind) or any(tokens[k].after for k in core[:-1]):
            continue
        if tuple(tokens[k].folded for k in core) == kind:
            yield core


def _kind_of(tokens: Utterance, core: tuple[int, ...], whole: bool, counted: bool) -> tuple[int, ...]:
    """The tokens of a kind that stands for the thing that it is one of, which a number `counted` or not; none
    where it does not. `whole` tells of one that is a name itself."""
    said, before, after = tokens.language, tokens[core[0] - 1], core[-1] + 1
    one = after < len(tokens) and tokens[after].folded in said.ones and not tokens[after - 1].after
    if one and before.folded in said.before_one:
        return (*core, after)
    if whole:
        return ()  # "lattes, green teas" are two things, though there is a green tea latte
    return core if counted and _is_led(before, said) and _is_closed(tokens, after) else ()


def _is_led(before: Token, said: Language) -> bool:
    led = (
        before.folded.isdigit()
        or before.folded in said.indefinite_articles
        or before.folded in said.partitive
    )
    return led and not before.after


def _is_closed(tokens: Utterance, after: int) -> bool:
    if after == len(tokens) or tokens[after - 1].after or tokens[after].folded.isdigit():
        return True
    word, said = tokens[after].folded, tokens.language
    return word in said.conjunctions or word in said.kinds_end or word in said.indefinite_articles
