"""Names said in another form than the menu's: a kind without the thing that it is one of ("five cookies:
three chocolate chip, two oatmeal", "a blueberry muffin and a lemon one"), what is done to an item as a
verb ("toast them both"), and a number that was written as another word ("a too scoop cup").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from services.reading.chart.resolve import EXACT, Found
from services.reading.chart.tokens import Token, Utterance
from services.reading.effort import charge
from services.reading.language.english import AND, HOMOPHONES, JOINTS, MEASURES, NUMBERS, PIECES, VESSELS
from services.reading.language.turns import ONES

# What a verb of preparing is followed by; and what else, where it begins a clause.
OBJECTS = frozenset("it them em those both all everything up".split())
_NOUN = frozenset("the my that 1 2 3 4 5 6".split())
_BEFORE_VERB = AND | frozenset("please you to".split())
# Close a kind that is said without its thing.
_CLOSING = AND | frozenset("please with without no thanks on for in".split())
# What a name counts.
_COUNTED = PIECES | frozenset("scoop shot pump slice patty stack inch".split())
# Names of items that hold a word, with their ids.
Named = Callable[[str], list[tuple[tuple[str, ...], str]]]
Phrase = tuple[tuple[str, ...], str, str, str]


def kinds(tokens: Utterance, found: list[Found], named: Named) -> Iterator[Found]:
    """Kinds of a thing that was named before, said without its name: after several things in the plural
    where a pause, a joint or the next number closes them; after one of it where "one" stands for the name."""
    whole = {f.core for f in found if f.kind == "item" and f.score >= EXACT}
    inside = {i for core in whole for i in core[:-1]}
    ends = {core[-1] for core in whole if core[1:]}
    places: dict[str, list[int]] = defaultdict(list)
    for i, token in enumerate(tokens):
        places[token.folded].append(i)
    for at, token in enumerate(tokens):
        if at in inside or token.folded in MEASURES | VESSELS | JOINTS:
            continue
        holding = named(token.folded)
        charge(len(holding))
        several = [(name[:-1], ref) for name, ref in holding if name[-1] == token.folded and name[1:]]
        if not several:
            continue
        open_ = at not in ends and any(t.folded.isdigit() for t in tokens[max(at - 2, 0) : at])
        for kind, ref in several:
            charge(1 + len(places.get(kind[0], ())))
            for i in places.get(kind[0], ()):
                if not at < i <= len(tokens) - len(kind):
                    continue
                after = i + len(kind)
                core = tuple(range(i, after))
                said = tuple(t.folded for t in tokens[i:after])
                if said != kind or any(t.after for t in tokens[i : after - 1]):
                    continue
                ones = after < len(tokens) and tokens[after].folded in ONES and not tokens[after - 1].after
                if ones and tokens[i - 1].folded in ("a", "an", "another", "the"):
                    yield Found("item", "", ref, (*core, after), EXACT, "kind_of")
                elif core in whole:
                    continue  # "lattes, green teas" are two things, though there is a green tea latte
                elif open_ and _led(tokens[i - 1]) and _closed(tokens, after):
                    yield Found("item", "", ref, core, EXACT, "kind_of")


def _led(before: Token) -> bool:
    return (before.folded.isdigit() or before.folded in ("a", "an", "of")) and not before.after


def _closed(tokens: Utterance, after: int) -> bool:
    if after == len(tokens) or tokens[after - 1].after:
        return True
    return (
        tokens[after].folded in _CLOSING
        or tokens[after].folded.isdigit()
        or tokens[after].folded in ("a", "an")
    )


def prepared(phrases: Iterable[Phrase]) -> dict[str, str]:
    """Words of options that say what is done to an item, by the verb: "toasted" by "toast"."""
    phrases = list(phrases)
    items = {words for words, kind, *_ in phrases if kind == "item"}
    done = {words[0] for words, kind, *_ in phrases if kind == "option" and len(words) == 1}
    verbs = {word.removesuffix("ed"): word for word in done if word.endswith("ed") and len(word) > 5}
    return {
        verb: word for verb, word in verbs.items() if (verb,) not in items and verb not in MEASURES | VESSELS
    }


def numbered(tokens: Utterance, names: Collection[tuple[str, ...]]) -> Utterance:
    """The words, with the number that a recogniser wrote as another word where a name of the menu begins with
    it: "a too scoop cup", "for piece nuggets"."""
    begins = {name[:2] for name in names if name[1:2] and name[1] in _COUNTED}
    told = list(tokens)
    for i, (token, after) in enumerate(pairwise(tokens)):
        number = str(HOMOPHONES.get(token.folded, ""))
        if number and not token.after and (number, after.folded) in begins:
            told[i] = replace(token, folded=number)
        if token.folded == "number" and after.folded in NUMBERS and not token.after:
            told[i + 1] = replace(after, folded=str(NUMBERS[after.folded]))  # "three number ones"
    return tokens.of(told)


def done(tokens: Utterance, verbs: dict[str, str], names: Collection[tuple[str, ...]]) -> Utterance:
    """The words, with what is to be done to an item as what it then is: "toast it", "warm up two of them".
    Not where one of the menu's `names` is so."""
    told = list(tokens)
    for i, token in enumerate(tokens[:-1]):
        if token.folded not in verbs or token.after:
            continue
        object_ = tokens[i + 1].folded
        begins = i == 0 or bool(tokens[i - 1].after) or tokens[i - 1].folded in _BEFORE_VERB
        if any(name[:2] == (token.folded, object_) for name in names):
            continue  # a menu may have "toast it"
        if object_ in OBJECTS or (begins and object_ in _NOUN):
            told[i] = replace(token, folded=verbs[token.folded])
            if i and told[i - 1].folded == "no":
                told[i - 1] = replace(told[i - 1], after=",")  # "no, heat them all up"
    return tokens.of(told)
