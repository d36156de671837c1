"""Where a transcript names something of a menu: exact, one sound off, in pieces, or in part.

Names and aliases of items, options and sizes are folded (case, plural, number words) and looked for in
every window of the transcript. Which of the mentions stand is the business of `settling.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

import jellyfish
import numpy as np
from rapidfuzz import fuzz, process

from schemas.evidence import Mention
from schemas.menu import Menu
from services.pipeline.elisions import done, kinds, prepared
from services.pipeline.english import AMOUNTS, FILLERS, JOINTS, MEASURES, NICKNAMES, NUMBERS
from services.pipeline.guesses import guess
from services.pipeline.settling import EXACT, GAPPED, GUESS, PART, SHARED_PART, SHORT, Found, settle
from services.pipeline.short_names import Name, Short, short_names
from services.pipeline.words import PAUSES, SENTENCE_ENDS, Token, fluent, fold, tokenize

# Indel similarity from which two spellings count as one sound off. Short words need more likeness:
# at 80 "late" is a latte, at 90 "americana" is no americano.
FUZZY_SHORT, FUZZY_LONG, LONG_CHARS = 0.9, 0.81, 8
STRONG = 0.8
# What each word of a sound-alike needs, where there are as many words.
FUZZY_WORD = 0.5
# From which likeness of spelling a little word may be another ("nice", "iced").
NEAR_WORD = 0.7
_ABBREVIATIONS = frozenset("no st dr mr mrs ms".split())
MAX_GAP = 2
# What follows is something on or in a thing, and no thing.
_WITH = frozenset("with in on no without add plus some hold".split())
MAX_SHARED = 8


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
        self._verbs = prepared(self._phrases)
        last = {fold(group.name.split()[-1]) for group in menu.option_groups}
        self.choices = frozenset(last - MEASURES)
        general = {item.category for item in menu.items} | {group.name for group in menu.option_groups}
        self.generic = frozenset(token.folded for name in general for token in tokenize(name))
        self._names = {words for words, *_ in self._phrases}
        self._joined = ["".join(words) for words, *_ in self._phrases]
        self._metaphones = [jellyfish.metaphone(joined) for joined in self._joined]
        self._by_word: dict[str, set[int]] = defaultdict(set)
        for index, (words, *_rest) in enumerate(self._phrases):
            for word in words:
                self._by_word[word].add(index)
        self._shorts: dict[str, list[Short]] = defaultdict(list)
        for short in short_names(_names(menu), self._kinds(), _beside(menu)):
            self._shorts[short.words[0]].append(short)
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

    def _kinds(self) -> dict[tuple[str, ...], set[str]]:
        """What each name of the menu is one of."""
        kinds: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for words, kind, group, _ in self._phrases:
            kinds[words].add(group or kind)
        return kinds

    def items(self, *words: str) -> list[tuple[tuple[str, ...], str]]:
        """Names of items, folded, that hold each of `words`, and whose they are."""
        held = set.intersection(*(self._by_word.get(word, set()) for word in words))
        names = (self._phrases[index] for index in sorted(held))
        return [(name, ref) for name, kind, _, ref in names if kind == "item"]

    def begins(self, word: str, rest: tuple[str, ...]) -> bool:
        """Whether `word` sounds like the first word of an item's name that goes on with `rest`."""
        return any(
            name[1:] == rest and name[0] != word and fuzz.ratio(name[0], word) >= NEAR_WORD * 100
            for name, _ in self.items(*rest)
        )

    def heard(self, text: str) -> list[Token]:
        """The words of `text`, without hesitations, as this menu's names are folded."""
        return done(fluent(tokenize(text), self.words), self._verbs, self._names)

    def find(self, text: str, tokens: list[Token]) -> list[Mention]:
        """All mentions in `text`, in order; none lies strictly inside another."""
        found = [*self._gapped(tokens), *self._short(tokens), *self._fuzzy(tokens)]
        kept = settle(found)
        if hollow := {f for f in kept if not _filled(f, kept)}:
            found = [f for f in found if f not in hollow]
            kept = settle(found)
        if elided := list(kinds(tokens, kept, self.items)):
            kept = settle([*found, *elided])
        covered = {i for f in kept for i in f.core}
        kept += settle([f for f in self._parts(tokens) if not covered & set(f.core)])
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
        return [*exact, *(f for f in alike if f.score == SHORT)] if exact else alike

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
                if core is not None and not self._counts(tokens, core):
                    gapless = core[-1] - core[0] + 1 == len(core)
                    found.append(Found(kind, group, ref, core, EXACT if gapless else GAPPED))
        return found

    def _short(self, tokens: list[Token]) -> list[Found]:
        """Short forms of names, said in one piece. What leaves out the sort of thing may be a part of another
        one beside it: "with turkey", "a turkey club"."""
        found = []
        for start, token in enumerate(tokens):
            for words, kind, group, ref, bare in self._shorts.get(token.folded, ()):
                end = start + len(words)
                if tuple(t.folded for t in tokens[start:end]) != words:
                    continue
                if any(t.after in PAUSES for t in tokens[start : end - 1]):
                    continue
                if bare and kind == "item" and self._of_another(tokens, start, end):
                    continue
                found.append(Found(kind, group, ref, tuple(range(start, end)), SHORT))
        return found

    def _of_another(self, tokens: list[Token], start: int, end: int) -> bool:
        before, after = tokens[start - 1 : start], tokens[end : end + 1]
        if before and not before[0].after and (before[0].folded in _WITH or before[0].folded in AMOUNTS):
            return True
        if not after or tokens[end - 1].after:
            return False
        word = after[0].folded
        if word in FILLERS | JOINTS | MEASURES or word in AMOUNTS or word in NUMBERS or word.isdigit():
            return False
        return bool(self.items(word)) or not (word in self._by_word or word in self.generic)

    def _follow(self, tokens: list[Token], words: tuple[str, ...], start: int) -> tuple[int, ...] | None:
        core = [start]
        for word in words[1:]:
            for step in range(1, MAX_GAP + 2):
                at = core[-1] + step
                # "No. 5" is one name, and no refusal; so are "St. Louis ribs" and a "B.L.T.".
                ended = at <= len(tokens) and tokens[at - 1].after in SENTENCE_ENDS
                if at >= len(tokens) or (ended and not _is_abbreviation(tokens[at - 1].folded)):
                    return None
                if tokens[at].folded == word:
                    core.append(at)
                    break
                between = tokens[at].folded
                # "Gluten free, two thin crust", "kapsalon with extra cheese", "three small cheese pizzas".
                if between in AMOUNTS or (between.isdigit() and tokens[core[-1]].after):
                    return None
                if tokens[core[-1]].folded in JOINTS or tokens[core[-1]].folded.isdigit():
                    return None
                if step > MAX_GAP or between in JOINTS or between not in self._qualifiers or tokens[at].after:
                    return None
            else:
                return None
        return tuple(core)

    def _counts(self, tokens: list[Token], core: tuple[int, ...]) -> bool:
        """Whether a name that is only "one" counts what follows: "one biscuit", where a single is called so
        too, or "a one piece", where there is A1 sauce."""
        end = core[-1] + 1
        only = {tokens[i].folded for i in core} <= {"a", "1"}
        return only and end < len(tokens) and not tokens[end - 1].after and tokens[end].folded in self.words

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
                # "One six piece" is no sixteen piece, though it is spelled like it.
                or [t.folded for t in tokens[i:j] if t.folded.isdigit()] != [w for w in words if w.isdigit()]
                # "Corned beef hash and" is not all of a corned beef hash and eggs.
                or (score < 1 and {tokens[i].folded, tokens[j - 1].folded} & JOINTS)
                or abs(j - i - len(words)) > 1
                or (score < 1 and any(e in AMOUNTS or e.isdigit() for e in edges))
                # "Three half tandooris" are halves, and no whole ones that sound a little like it.
                or (score < 1 and j - i > len(words) and any((e,) in self._names for e in edges))
                # In "a tub of veggie cream cheese" the veggie is no noise.
                or (j - i > len(words) and inner & self._by_word.keys())
                # "No ice" is no option of no rice where ice can be had.
                or (score < 1 and tokens[i].folded in AMOUNTS and self._said(tokens[i + 1 : j]))
                # "Grilled chicken and ranch" is no grilled chicken sandwich.
                or (score < 1 and inner & JOINTS)
                or not (sounds_alike or self._word_by_word([t.folded for t in tokens[i:j]], words))
            ):
                continue
            uneven = j - i != len(words) and not sounds_alike
            pairs = list(zip(range(i, j), words, strict=True)) if j - i == len(words) else []
            unlike = tuple(k for k, word in pairs if tokens[k].folded != word)
            if any(k in unlike and self._another(tokens[k].folded, word) for k, word in pairs):
                continue  # a "bacon burger" is no Barn burger
            found.append(Found(kind, group, ref, tuple(range(i, j)), min(score, 0.99), uneven, unlike))
        return found

    def _said(self, tokens: list[Token]) -> bool:
        """Whether words are a whole name."""
        return tuple(token.folded for token in tokens) in self._names

    def _another(self, said: str, word: str) -> bool:
        """Whether a word of the menu was said that is not even near a name's own."""
        return said in self._by_word and fuzz.ratio(said, word) < NEAR_WORD * 100

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


def _is_abbreviation(word: str) -> bool:
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())


def _filled(one: Found, kept: list[Found]) -> bool:
    """Whether what stands in the gap of a name is named itself: in "a tub of veggie cream cheese" the veggie
    is a part of another name, and would be lost."""
    gap = set(range(one.core[0], one.core[-1] + 1)) - set(one.core)
    return gap <= {i for f in kept if f is not one for i in f.core}


def _names(menu: Menu) -> list[Name]:
    """Items and options by the names on the board; a brand with what it comes in ("Fanta Orange") is told by
    its capitals, where most names have none."""
    plain = 2 * sum(item.name[:1].islower() for item in menu.items) > len(menu.items)
    named = [
        (
            item.name,
            "item",
            "",
            item.sku,
            plain and all(w[:1].isupper() for w in item.name.split()[:2]),
            item.category,
        )
        for item in menu.items
    ]
    single = menu.choose_one
    named += [
        (o.name, "option", g.id, o.id, g.id in single, g.name.split()[-1])
        for g in menu.option_groups
        for o in g.options
    ]
    return [
        Name(words, kind, group, ref, alone, tuple(token.folded for token in tokenize(sort)))
        for name, kind, group, ref, alone, sort in named
        if (words := tuple(token.folded for token in tokenize(name)))
    ]


def _beside(menu: Menu) -> dict[str, set[str]]:
    """By group of options the groups that some item has beside it."""
    beside: dict[str, set[str]] = defaultdict(set)
    for item in menu.items:
        for group in item.option_groups:
            beside[group].update(item.option_groups)
    return beside


def _nicknames(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A name with an everyday one in the place of the same in full ("OJ")."""
    for nick, full in NICKNAMES.items():
        whole = tuple(full.split())
        for i in range(len(words) - len(whole) + 1):
            if words[i : i + len(whole)] == whole:
                yield (*words[:i], *nick.split(), *words[i + len(whole) :])


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
