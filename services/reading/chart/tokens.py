"""The words of a transcript: folded to what sounds the same, with their places, pauses and hesitations."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from schemas.evidence import Mention
from services.reading.effort import charge
from services.reading.language.english import (
    AMOUNTS,
    FILLERS,
    HESITATIONS,
    JOINTS,
    LIKING,
    NUMBERS,
    PERSONS,
    SAME_AS,
)

SENTENCE_ENDS = (".", "?", "!")
PAUSES = (*SENTENCE_ENDS, ",", ";", ":")
_QUOTES = " \t\n'\"‘’“”()[]*"
# Number words that are more than their number: "a double", "half a dozen", "vanilla twice".
UNFOLDED = frozenset("single double triple couple pair both twice thrice dozen".split())


@dataclass(frozen=True, slots=True)
class Token:
    """One word of the transcript with its place; `after` is the punctuation that follows it."""

    folded: str
    start: int
    end: int
    after: str


def fold(word: str) -> str:
    """Fold a word to what sounds the same for matching: case, possessive, plural, number words."""
    word = word.casefold().replace("’", "'").removesuffix("'s")
    subject = word.removesuffix("'ll")
    if subject in NUMBERS or subject in ("he", "she") or (len(subject) > 3 and subject.endswith("s")):
        word = subject  # "three eggs'll do"; and "she'll" is no shell
    word = word.replace("'", "")
    if word in NUMBERS and word not in UNFOLDED:
        return str(NUMBERS[word])
    if word in ("oz", "ounces"):
        return "ounce"
    if word == "%":
        return "percent"
    if word in ("&", "n"):  # "mac 'n' cheese", "salt & vinegar"
        return "and"
    if len(word) > 4 and word.endswith(("ie", "ies")):
        return re.sub(r"ies?$", "y", word)
    if len(word) > 4 and word.endswith("aves"):
        return word[:-3] + "f"
    if len(word) > 4 and re.search(r"(ch|sh|ss|x|z)es$", word):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def tokenize(text: str) -> list[Token]:
    """Words of `text` in order, folded."""
    found = list(re.finditer(r"\w+(?:['’]\w+)?|[%&]", text))
    charge(3 + 2 * len(found))
    ends = [*(m.start() for m in found[1:]), len(text)][: len(found)]
    return [
        Token(fold(m.group()), m.start(), m.end(), _pause(text[m.end() : end]))
        for m, end in zip(found, ends, strict=True)
    ]


def _pause(between: str) -> str:
    """The first sign of a pause between two words; quotation marks and a hyphen are none."""
    return "" if between == "-" else between.strip(_QUOTES)[:1]


def _plural_of(word: str, names: Collection[str]) -> bool:
    """Whether a word is the plural of one of the menu's; "as" is none of "a"."""
    return word.endswith("s") and word not in FILLERS and word not in names and word[:-1] in names


def fluent(tokens: list[Token], names: Collection[str]) -> list[Token]:
    """The words without those of mere hesitation, unless the menu's `names` have them. Their commas go with
    them; a sentence's end stays one. "Can" as a verb is told from a can of something, and "not too much" is
    one word. Two "nigiris" are the menu's nigiri, though most words in "is" are singular."""
    tokens = [replace(t, folded=t.folded[:-1]) if _plural_of(t.folded, names) else t for t in tokens]
    kept: list[Token] = []
    i = 0
    while i < len(tokens):
        words = tuple(token.folded for token in tokens[i : i + 4])
        size = max((len(p) for p in HESITATIONS if words[: len(p)] == p), default=0)
        same = max((p for p in SAME_AS if words[: len(p)] == p), key=len, default=())
        if same[-1:] == ("lot",) and "lot" in names:
            same = ()  # a menu may have "the lot"
        if same:
            kept.append(replace(tokens[i + len(same) - 1], folded=SAME_AS[same], start=tokens[i].start))
            i += len(same)
            continue
        likened = words[1:2] in (("it",), ("that",), ("this",), ("those",)) and not tokens[i].after
        liked = words[0] == "like" and (likened or not kept or kept[-1].folded in LIKING)
        if not size or liked or all(word in names for word in words[:size]):
            kept.append(tokens[i])
            i += 1
            continue
        i += size
        if kept and kept[-1].folded in AMOUNTS.keys() | JOINTS and kept[-1].after == ",":
            kept[-1] = replace(kept[-1], after="")  # "no, um, onions"
        if kept and tokens[i - 1].after in SENTENCE_ENDS and not kept[-1].after:
            kept[-1] = replace(kept[-1], after=tokens[i - 1].after)
    # "Can I get a coke": the verb, and no can of anything.
    asks = [a.folded == "can" and b.folded in PERSONS for a, b in pairwise(kept)]
    return [replace(t, folded="could") if ask else t for t, ask in zip_longest(kept, asks)]


def sentences(tokens: list[Token]) -> Iterator[list[Token]]:
    """The words of each sentence that ends; what follows the last end is none."""
    start = 0
    for i, token in enumerate(tokens):
        if token.after in SENTENCE_ENDS:
            yield tokens[start : i + 1]
            start = i + 1


def span(tokens: list[Token], mention: Mention) -> tuple[int, int]:
    """Token positions [first, end) of a mention."""
    charge(3)
    first = bisect_left(tokens, mention.start, key=lambda token: token.start)
    return first, bisect_right(tokens, mention.end, lo=first, key=lambda token: token.end)


def covered(tokens: list[Token], mentions: Iterable[Mention]) -> set[int]:
    """Token positions that mentions take up."""
    return {i for mention in mentions for i in range(*span(tokens, mention))}
