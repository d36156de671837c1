"""Names said in another form than the menu's: a kind without the thing that it is one of ("five cookies:
three chocolate chip, two oatmeal", "a blueberry muffin and a lemon one"), what is done to an item as a
verb ("toast them both"), and a number that was written as another word ("a too scoop cup").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from services.reading.chart.resolve import EXACT, Found
from services.reading.chart.tokens import Token, Utterance
from services.reading.effort import charge
from services.reading.language.language import Language

Words = tuple[str, ...]
# Names of items that hold a word, with their ids.
Named = Callable[[str], list[tuple[Words, str]]]
Phrase = tuple[Words, str, str, str]


def kinds(tokens: Utterance, found: list[Found], named: Named) -> Iterator[Found]:
    """Kinds of a thing that was named before, said without its name: after several things in the plural
    where a pause, a joint or the next number closes them; after one of it where "one" stands for the name."""
    whole = {f.core for f in found if f.kind == "item" and f.score >= EXACT}
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
                    yield Found("item", "", ref, stands, EXACT, "kind_of")
    yield from _of_named_first(tokens, whole, named, places)


def _of_named_first(
    tokens: Utterance, whole: set[tuple[int, ...]], named: Named, places: Mapping[str, list[int]]
) -> Iterator[Found]:
    """Kinds said without a thing that stands first in their names: "a taco al pastor and one de lengua"."""
    for at, several in _headed(tokens, whole, named):
        for kind, ref in several:
            begins = places.get(kind[0], [])
            charge(1 + len(begins))
            for core in _said_after(tokens, at, kind, begins):
                if core not in whole and _is_one_more(tokens, core):
                    yield Found("item", "", ref, core, EXACT, "kind_of")


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


def prepared(phrases: Iterable[Phrase], said: Language) -> dict[str, str]:
    """Words of options that say what is done to an item, by the verb: "toasted" by "toast"."""
    phrases = list(phrases)
    items = {words for words, kind, *_ in phrases if kind == "item"}
    done = {words[0] for words, kind, *_ in phrases if kind == "option" and len(words) == 1}
    verbs = {
        word.removesuffix(sign): word
        for sign in said.participle_signs
        for word in done
        if word.endswith(sign) and len(word) > len(sign) + 3
    }
    packing = said.measures | said.vessels
    return {verb: word for verb, word in verbs.items() if (verb,) not in items and verb not in packing}


def numbered(tokens: Utterance, names: Collection[Words]) -> Utterance:
    """The words, with the number that a recogniser wrote as another word where a name of the menu begins with
    it: "a too scoop cup", "for piece nuggets"."""
    said = tokens.language
    begins = {name[:2] for name in names if name[1:2] and name[1] in said.counted_by_names}
    told = list(tokens)
    for i, (token, after) in enumerate(pairwise(tokens)):
        if token.after:
            continue
        number = str(said.homophones.get(token.folded, ""))
        if number and (number, after.folded) in begins:
            told[i] = replace(token, folded=number)
        if token.folded in said.naming and after.folded in said.numbers:
            told[i + 1] = replace(after, folded=str(said.numbers[after.folded]))  # "three number ones"
    return tokens.of(told)


def done(tokens: Utterance, verbs: dict[str, str], names: Collection[Words]) -> Utterance:
    """The words, with what is to be done to an item as what it then is: "toast it", "warm up two of them".
    Not where one of the menu's `names` is so."""
    said = tokens.language
    told = list(tokens)
    for i, (token, after) in enumerate(pairwise(tokens)):
        if token.folded not in verbs or token.after or not _has_object(tokens, i):
            continue
        if any(name[:2] == (token.folded, after.folded) for name in names):
            continue  # a menu may have "toast it"
        told[i] = replace(token, folded=verbs[token.folded])
        if i and told[i - 1].folded in said.refusals:
            told[i - 1] = replace(told[i - 1], after=",")  # "no, heat them all up"
    return tokens.of(told)


def _has_object(tokens: Utterance, at: int) -> bool:
    """Whether a word is a verb with what it is done to after it; a noun may follow where a clause begins."""
    said, object_ = tokens.language, tokens[at + 1].folded
    if object_ in said.objects_of_making:
        return True
    noun = object_ in said.definite_articles or object_ in said.others or object_.isdigit()
    return noun and _begins_clause(tokens, at)


def _begins_clause(tokens: Utterance, at: int) -> bool:
    if at == 0 or tokens[at - 1].after:
        return True
    before, said = tokens[at - 1].folded, tokens.language
    return before in said.conjunctions or before in said.before_verbs_of_making
