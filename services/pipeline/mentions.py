"""Where a transcript names something of a menu: exact, one sound off, in pieces, or in part.

Names and aliases of items, options and sizes are folded (case, plural, number words) and looked for in
every window of the transcript. The longest mention wins over whatever lies inside it, whatever its kind:
the size word in "medium roast" opens no size, and the "mocha" in "mocha syrup" no drink.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

import jellyfish
import numpy as np
from rapidfuzz import fuzz, process

from schemas.evidence import Mention
from schemas.menu import Menu
from services.pipeline.english import (
    AMOUNTS,
    FILLERS,
    HESITATIONS,
    JOINTS,
    LIKING,
    MEASURES,
    NICKNAMES,
    NUMBERS,
    PERSONS,
    SAME_AS,
)
from services.pipeline.guesses import guess

EXACT, GAPPED, PART, GUESS, SHARED_PART = 1.0, 0.97, 0.6, 0.45, 0.4
# Indel similarity from which two spellings count as one sound off. Short words need more likeness:
# at 80 "late" is a latte, at 90 "americana" is no americano.
FUZZY_SHORT, FUZZY_LONG, LONG_CHARS = 0.9, 0.81, 8
STRONG = 0.8
# What each word of a sound-alike needs, where there are as many words.
FUZZY_WORD = 0.5
SENTENCE_ENDS = (".", "?", "!")
PAUSES = (*SENTENCE_ENDS, ",", ";", ":")
_QUOTES = " \t\n'\"‘’“”()[]*"
MAX_GAP = 2
MAX_SHARED = 8
# Number words that are more than their number: "a double", "half a dozen", "vanilla twice".
UNFOLDED = frozenset("single double triple couple pair both twice thrice dozen".split())


@dataclass(frozen=True, slots=True)
class Token:
    """One word of the transcript with its place; `after` is the punctuation that follows it."""

    folded: str
    start: int
    end: int
    after: str


@dataclass(frozen=True, slots=True)
class Found:
    """A mention before overlaps are settled: token positions that matched, and whom they name. An `uneven`
    one has more or fewer words than the name, and likeness in the whole only."""

    kind: str
    group: str
    id: str
    core: tuple[int, ...]
    score: float
    uneven: bool = False


def fold(word: str) -> str:
    """Fold a word to what sounds the same for matching: case, possessive, plural, number words."""
    word = word.casefold().replace("’", "'").removesuffix("'s").replace("'", "")
    if word in NUMBERS and word not in UNFOLDED:
        return str(NUMBERS[word])
    if word in ("oz", "ounces"):
        return "ounce"
    if word == "%":
        return "percent"
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
    found = list(re.finditer(r"\w+(?:['’]\w+)?|%", text))
    ends = [*(m.start() for m in found[1:]), len(text)][: len(found)]
    return [
        Token(fold(m.group()), m.start(), m.end(), _pause(text[m.end() : end]))
        for m, end in zip(found, ends, strict=True)
    ]


def _pause(between: str) -> str:
    """The first sign of a pause between two words; quotation marks and a hyphen are none."""
    return "" if between == "-" else between.strip(_QUOTES)[:1]


def fluent(tokens: list[Token], names: Collection[str]) -> list[Token]:
    """The words without those of mere hesitation, unless the menu's `names` have them. Their commas go with
    them; a sentence's end stays one. "Can" as a verb is told from a can of something, and "not too much" is
    one word."""
    kept: list[Token] = []
    i = 0
    while i < len(tokens):
        words = tuple(token.folded for token in tokens[i : i + 4])
        size = max((len(p) for p in HESITATIONS if words[: len(p)] == p), default=0)
        same = max((p for p in SAME_AS if words[: len(p)] == p), key=len, default=())
        if same:
            kept.append(replace(tokens[i + len(same) - 1], folded=SAME_AS[same], start=tokens[i].start))
            i += len(same)
            continue
        liked = words[0] == "like" and (not kept or kept[-1].folded in LIKING)
        if not size or liked or words[0] in names:
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


def span(tokens: list[Token], mention: Mention) -> tuple[int, int]:
    """Token positions [first, end) of a mention."""
    first = bisect_left(tokens, mention.start, key=lambda token: token.start)
    return first, bisect_right(tokens, mention.end, lo=first, key=lambda token: token.end)


def covered(tokens: list[Token], mentions: Iterable[Mention]) -> set[int]:
    """Token positions that mentions take up."""
    return {i for mention in mentions for i in range(*span(tokens, mention))}


class Lexicon:
    """Every name of one menu version, ready to be looked for. Build once a version: about 1 ms for
    40 items; looking takes under 1 ms for them and about 0.2 s for 10,000."""

    def __init__(self, menu: Menu) -> None:
        self._phrases: list[tuple[tuple[str, ...], str, str, str]] = []
        self._written: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for item in menu.items:
            self._add("item", "", item.sku, (item.name, *item.aliases))
        for size in menu.sizes:
            self._add("size", "", size.id, (size.name, *size.aliases))
        for group in menu.option_groups:
            for option in group.options:
                self._add("option", group.id, option.id, (option.name, *option.aliases))
        last = {fold(group.name.split()[-1]) for group in menu.option_groups}
        self.choices = frozenset(last - MEASURES)
        kinds = {item.category for item in menu.items} | {group.name for group in menu.option_groups}
        self.generic = frozenset(token.folded for kind in kinds for token in tokenize(kind))
        self._joined = ["".join(words) for words, *_ in self._phrases]
        self._metaphones = [jellyfish.metaphone(joined) for joined in self._joined]
        self._by_word: dict[str, set[int]] = defaultdict(set)
        for index, (words, *_rest) in enumerate(self._phrases):
            for word in words:
                self._by_word[word].add(index)
        self._qualifiers = {
            word for words, kind, *_ in self._phrases if kind in ("size", "option") for word in words
        }

    @property
    def words(self) -> Collection[str]:
        """Every word of a name, folded."""
        return self._by_word.keys()

    def _add(self, kind: str, group: str, ref: str, names: tuple[str, ...]) -> None:
        self._written[kind, group, ref].update(name.casefold() for name in names)
        for words in {tuple(token.folded for token in tokenize(name)) for name in names}:
            if words:
                self._phrases.append((words, kind, group, ref))
                self._phrases += [(nick, kind, group, ref) for nick in _nicknames(words)]

    def items(self, *words: str) -> list[tuple[tuple[str, ...], str]]:
        """Names of items, folded, that hold each of `words`, and whose they are."""
        held = set.intersection(*(self._by_word.get(word, set()) for word in words))
        names = (self._phrases[index] for index in sorted(held))
        return [(name, ref) for name, kind, _, ref in names if kind == "item"]

    def find(self, text: str, tokens: list[Token]) -> list[Mention]:
        """All mentions in `text`, in order; none lies strictly inside another."""
        found = [*self._gapped(tokens), *self._fuzzy(tokens)]
        kept = _settle(found)
        covered = {i for f in kept for i in f.core}
        kept += _settle([f for f in self._parts(tokens) if not covered & set(f.core)])
        kept = [*self._guesses(tokens, kept), *kept]
        by_place: dict[tuple[str, tuple[int, ...]], list[Found]] = defaultdict(list)
        for f in kept:
            by_place[f.kind, f.core].append(f)
        return sorted(
            (
                _mention(text, tokens, kind, core, self._as_written(text, tokens, fs))
                for (kind, core), fs in by_place.items()
            ),
            key=lambda m: (m.start, m.end),
        )

    def _as_written(self, text: str, tokens: list[Token], alike: list[Found]) -> list[Found]:
        """Those whose name is written just so, where there are any: "pepper" is the black one, and no green
        peppers."""
        core = alike[0].core
        said = text[tokens[core[0]].start : tokens[core[-1]].end].casefold()
        exact = [f for f in alike if said in self._written[f.kind, f.group, f.id]]
        return exact or alike

    def _gapped(self, tokens: list[Token]) -> list[Found]:
        """Names whose words are all there, in order, with at most sizes or options between them."""
        present = {token.folded for token in tokens}
        indexes = {i for word in present for i in self._by_word.get(word, ())}
        found = []
        for index in sorted(indexes):
            words, kind, group, ref = self._phrases[index]
            if not present.issuperset(words):
                continue
            for start in (i for i, token in enumerate(tokens) if token.folded == words[0]):
                core = self._follow(tokens, words, start)
                if core is not None:
                    gapless = core[-1] - core[0] + 1 == len(core)
                    found.append(Found(kind, group, ref, core, EXACT if gapless else GAPPED))
        return found

    def _follow(self, tokens: list[Token], words: tuple[str, ...], start: int) -> tuple[int, ...] | None:
        core = [start]
        for word in words[1:]:
            for step in range(1, MAX_GAP + 2):
                at = core[-1] + step
                if at >= len(tokens) or tokens[at - 1].after in SENTENCE_ENDS:
                    return None
                if tokens[at].folded == word:
                    core.append(at)
                    break
                between = tokens[at].folded
                if step > MAX_GAP or between in JOINTS or between not in self._qualifiers or tokens[at].after:
                    return None
            else:
                return None
        return tuple(core)

    def _fuzzy(self, tokens: list[Token]) -> list[Found]:
        """Names that a window of the transcript spells or sounds almost like."""
        widest = max(len(words) for words, *_ in self._phrases) + 1
        windows = [
            (i, j, "".join(t.folded for t in tokens[i:j]))
            for i in range(len(tokens))
            for j in range(i + 1, min(i + widest, len(tokens)) + 1)
            # A name said whole may have a pause in it; what only sounds like one may not.
            if not any(t.after in PAUSES for t in tokens[i : j - 1])
        ]
        windows = [w for w in windows if len(w[2]) >= 4]
        if not windows:
            return []
        texts = [w[2] for w in windows]
        scores = process.cdist(texts, self._joined, scorer=fuzz.ratio, score_cutoff=FUZZY_LONG * 100) / 100
        found = []
        for w, p in zip(*np.nonzero(scores), strict=True):
            i, j, joined = windows[w]
            words, kind, group, ref = self._phrases[p]
            score, size = float(scores[w, p]), min(len(joined), len(self._joined[p]))
            sounds_alike = size >= 5 and jellyfish.metaphone(joined) == self._metaphones[p]
            needed = FUZZY_LONG if size >= LONG_CHARS or sounds_alike else FUZZY_SHORT
            edges = {tokens[i].folded, tokens[j - 1].folded} - set(words)
            inner = {token.folded for token in tokens[i:j]} - set(words)
            if (
                score < needed
                or abs(j - i - len(words)) > 1
                or (score < 1 and any(e in AMOUNTS or e.isdigit() for e in edges))
                # "No ice" is no option of no rice where ice can be had.
                or (score < 1 and tokens[i].folded in AMOUNTS and self._said(tokens[i + 1 : j]))
                # "Grilled chicken and ranch" is no grilled chicken sandwich.
                or (score < 1 and inner & JOINTS)
                or not (sounds_alike or self._word_by_word([t.folded for t in tokens[i:j]], words))
            ):
                continue
            uneven = j - i != len(words) and not sounds_alike
            found.append(Found(kind, group, ref, tuple(range(i, j)), min(score, 0.99), uneven))
        return found

    def _said(self, tokens: list[Token]) -> bool:
        """Whether words are a whole name."""
        words = tuple(token.folded for token in tokens)
        return any(self._phrases[i][0] == words for i in self._by_word.get(words[0] if words else "", ()))

    @staticmethod
    def _word_by_word(said: list[str], name: tuple[str, ...]) -> bool:
        """Whether likeness is spread over the words: "get caramel macchiato" and "hot caramel macchiato" are
        no iced ones, however much else they share with it."""
        if {said[0], said[-1]} & FILLERS - set(name):
            return False
        if len(said) != len(name):
            return True
        return all(fuzz.ratio(a, b) >= FUZZY_WORD * 100 for a, b in zip(said, name, strict=True))

    def _parts(self, tokens: list[Token]) -> list[Found]:
        """A word that belongs to few names of the menu, said without the rest of the name. It names an
        item well when it is one item's last word: a muffin may be the blueberry muffin, but a banana is no
        banana bread."""
        found = []
        for at, token in enumerate(tokens):
            if (
                len(token.folded) < 3
                or token.folded in JOINTS
                or token.folded in NUMBERS
                or token.folded in AMOUNTS  # "heavy on the sugar" is no cream
                or token.folded == "half"
                or token.folded in FILLERS  # "a side of ranch" is no side salad
            ):
                continue
            phrases = [self._phrases[i] for i in self._by_word.get(token.folded, ())]
            refs = {phrase[1:] for phrase in phrases}
            refs = {r for r in refs if r[0] != "size"}
            if not refs or len(refs) > MAX_SHARED:
                continue
            names_it = any(words[-1] == token.folded or kind == "option" for words, kind, *_ in phrases)
            score = PART if len(refs) == 1 and names_it else SHARED_PART
            found += [Found(kind, group, ref, (at,), score) for kind, group, ref in sorted(refs)]
        return found

    def _guesses(self, tokens: list[Token], kept: list[Found]) -> list[Found]:
        """Names for words that nothing accounts for; a part of a name beside them may belong to it."""
        known = FILLERS | JOINTS | AMOUNTS.keys() | NUMBERS.keys()
        whole = {i for f in kept if f.score > PART for i in f.core}
        parts = {i for f in kept for i in f.core} - whole
        lost = {
            i
            for i, token in enumerate(tokens)
            if i not in whole and token.folded not in known and not token.folded.isdigit()
        }
        found = []
        for start, end, index in guess([t.folded for t in tokens], lost, self._joined):
            _, kind, group, ref = self._phrases[index]
            core = tuple(range(start, end))
            if set(core) - parts:
                found.append(Found(kind, group, ref, core, GUESS))
        return found


def _nicknames(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A name with an everyday one in the place of the same in full ("OJ")."""
    for nick, full in NICKNAMES.items():
        whole = tuple(full.split())
        for i in range(len(words) - len(whole) + 1):
            if words[i : i + len(whole)] == whole:
                yield (*words[:i], *nick.split(), *words[i + len(whole) :])


def _settle(found: list[Found]) -> list[Found]:
    """Drop what lies strictly inside a better or longer mention, and weaker readings of the same words."""
    whole = [f for f in found if f.score >= GAPPED]
    found = [
        f
        for f in found
        if f.score >= GAPPED or not (any(_belies(w, f) for w in whole) or _all_said(whole, f))
    ]
    ordered = sorted(found, key=lambda f: (-len(f.core), -f.score))
    kept: list[Found] = []
    for f in ordered:
        if any(_beats(k, f) for k in kept):
            continue
        # A longer but worse reading gives way to an exact one inside it ("and latte" to "latte").
        kept = [k for k in kept if not (set(f.core) < set(k.core) and f.score > k.score + 0.15)]
        kept.append(f)
    best: dict[tuple[str, str, str, tuple[int, ...]], Found] = {}
    for f in kept:
        key = (f.kind, f.group, f.id, f.core)
        if key not in best or best[key].score < f.score:
            best[key] = f
    return list(best.values())


def _beats(kept: Found, other: Found) -> bool:
    """Whether `kept` leaves no room for `other`, which is no longer and no better than it."""
    mine, its = set(kept.core), set(other.core)
    if its < mine:
        return kept.score >= other.score - 0.15
    if its == mine:
        return other.score < kept.score - (0 if kept.score >= EXACT else 0.05)
    return bool(its & mine) and not mine < its and other.score < kept.score


def _belies(whole: Found, like: Found) -> bool:
    """Whether a name said whole shows that a sound-alike over its words is none.

    "two coffees" is one letter off "coffee", but holds the word itself; "classic burger well" is one letter
    off a "meal", but its last word is the first of "well done"; "fresh lemon cake" is near "fresh lemonade",
    but a lemon cake was said.
    """
    mine, its = set(whole.core), set(like.core)
    if mine < its:
        return _same(whole, like) or (like.uneven and whole.kind == like.kind and len(mine) > 1)
    return whole.score >= EXACT and bool(mine & its and mine - its and its - mine)


def _all_said(whole: list[Found], like: Found) -> bool:
    """Whether each word of a mere likeness is of a name said whole: a "double cheeseburger", where that is a
    size and an item, is no double cheeseburger combo."""
    inside = [w for w in whole if w.score >= EXACT and set(w.core) < set(like.core)]
    named = any(w.kind == like.kind for w in inside)
    return like.uneven and named and {i for w in inside for i in w.core} == set(like.core)


def _same(a: Found, b: Found) -> bool:
    return (a.kind, a.group, a.id) == (b.kind, b.group, b.id)


def _mention(text: str, tokens: list[Token], kind: str, core: tuple[int, ...], fs: list[Found]) -> Mention:
    start, end = tokens[core[0]].start, tokens[core[-1]].end
    top = max(f.score for f in fs)
    return Mention(
        kind=kind,
        ids=tuple(f.id for f in fs),
        groups=tuple(f.group for f in fs) if kind == "option" else (),
        start=start,
        end=end,
        text=text[start:end],
        score=round(top, 3),
        strong=top >= STRONG,
        guessed=top == GUESS,
    )
