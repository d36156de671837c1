"""Names of a menu that words spell or sound almost like, though nobody said them so."""

from __future__ import annotations

from dataclasses import dataclass

import jellyfish
import numpy as np
from rapidfuzz import fuzz, process

from services.reading.chart.span import Span, found
from services.reading.chart.tokens import PAUSES, Folded, Utterance
from services.reading.effort import charge
from services.reading.language.language import Language
from services.reading.names.board import Board

# Indel similarity from which two spellings count as one sound off. Short words need more likeness:
# at 80 "late" is a latte, at 90 "americana" is no americano.
FUZZY_SHORT, FUZZY_LONG, LONG_CHARS = 0.9, 0.81, 8
# What each word of a sound-alike needs, where there are as many words.
FUZZY_WORD = 0.5
# From which likeness of spelling a word may be another ("nice", "iced").
NEAR_WORD = 0.7
# Comparisons of two spellings that come to one step, and steps of looking at one that is alike.
CELLS, A_LIKENESS = 8, 8


@dataclass(frozen=True, slots=True)
class Window:
    """Some words of an utterance that follow on each other without a pause: tokens [start, end)."""

    start: int
    end: int
    words: Folded
    joined: str


@dataclass(frozen=True, slots=True)
class Likeness:
    """Words that were said, and a name that is spelled almost like them: as alike as `score` says, and
    sounding the same or not."""

    said: Folded
    name: Folded
    score: float
    sounds_alike: bool

    @property
    def exact(self) -> bool:
        return self.score >= 1

    @property
    def more_words(self) -> bool:
        return len(self.said) > len(self.name)

    @property
    def uneven(self) -> bool:
        """Whether there are more words than the name has, or fewer, and likeness in the whole only."""
        return len(self.said) != len(self.name) and not self.sounds_alike

    @property
    def strange(self) -> set[str]:
        """Words that are not the name's."""
        return set(self.said).difference(self.name)

    @property
    def strange_edges(self) -> set[str]:
        """The first and the last word, where they are not the name's."""
        return {self.said[0], self.said[-1]}.difference(self.name)

    @property
    def unlike(self) -> list[tuple[int, str, str]]:
        """Where there are as many words: the places of those that are not the name's, with both."""
        if len(self.said) != len(self.name):
            return []
        return [(i, a, b) for i, (a, b) in enumerate(zip(self.said, self.name, strict=True)) if a != b]

    def is_word_by_word(self, said: Language) -> bool:
        """Whether likeness is spread over the words: "get caramel macchiato" and "hot caramel macchiato" are
        no iced ones, however much else they share with it."""
        if not said.fillers.isdisjoint(self.strange_edges):
            return False
        if len(self.said) != len(self.name):
            return True
        pairs = zip(self.said, self.name, strict=True)
        return all(fuzz.ratio(a, b) >= FUZZY_WORD * 100 for a, b in pairs)

    def counts_otherwise(self) -> bool:
        """ "One six piece" is no sixteen piece, though it is spelled like it."""
        return [w for w in self.said if w.isdigit()] != [w for w in self.name if w.isdigit()]


class Ear:
    """Hears names of a board in words that are almost theirs."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._said = board.language
        self.joined = ["".join(words) for words, *_ in board.phrases]
        self._metaphones = [jellyfish.metaphone(joined) for joined in self.joined]
        self._widest = max((len(words) for words, *_ in board.phrases), default=0) + 1

    def begins(self, word: str, rest: tuple[str, ...]) -> bool:
        """Whether `word` sounds like the first word of an item's name that goes on with `rest`."""
        return any(
            name[1:] == rest and name[0] != word and fuzz.ratio(name[0], word) >= NEAR_WORD * 100
            for name, _ in self._board.items(*rest)
        )

    def find(self, tokens: Utterance) -> list[Span]:
        """Names that a window of the transcript spells or sounds almost like."""
        windows = self._windows(tokens)
        if not windows:
            return []
        charge(len(windows) * len(self.joined) // CELLS)
        texts = [window.joined for window in windows]
        scores = process.cdist(texts, self.joined, scorer=fuzz.ratio, score_cutoff=FUZZY_LONG * 100) / 100
        rows, columns = np.nonzero(scores)
        charge(len(rows) * A_LIKENESS)
        heard = []
        for w, p in zip(rows.tolist(), columns.tolist(), strict=True):
            like = self._likeness(windows[w], p, float(scores[w, p]))
            if like is not None and not self._is_mistaken(like):
                heard.append(self._found(tokens, windows[w], p, like))
        return heard

    def _windows(self, tokens: Utterance) -> list[Window]:
        """Every few words that may be a name. A name said whole may have a pause in it; what only sounds like
        one may not."""
        charge(len(tokens) * min(self._widest, len(tokens)))
        windows = []
        for start in range(len(tokens)):
            joined = ""
            for end in range(start + 1, min(start + self._widest, len(tokens)) + 1):
                joined += tokens[end - 1].folded
                if len(joined) >= 4:
                    words = tuple(token.folded for token in tokens[start:end])
                    windows.append(Window(start, end, words, joined))
                if tokens[end - 1].after in PAUSES:
                    break
        return windows

    def _likeness(self, window: Window, index: int, score: float) -> Likeness | None:
        """A window beside a name; None where they are not alike enough for their length."""
        size = min(len(window.joined), len(self.joined[index]))
        sounds_alike = size >= 5 and jellyfish.metaphone(window.joined) == self._metaphones[index]
        if score < (FUZZY_LONG if size >= LONG_CHARS or sounds_alike else FUZZY_SHORT):
            return None
        return Likeness(window.words, self._board.phrases[index][0], score, sounds_alike)

    def _is_mistaken(self, like: Likeness) -> bool:
        """Whether words mean something else than the name that they are spelled like; whoever spells it just
        so, in other words only, means it."""
        if (
            self._is_filler(like)
            or like.counts_otherwise()
            or abs(len(like.said) - len(like.name)) > 1
            or not (like.sounds_alike or like.is_word_by_word(self._said))
            or self._has_other_word(like)
        ):
            return True
        rules = (self._has_joint, self._has_amount, self._has_other_name, self._is_amount_of)
        return not like.exact and any(rule(like) for rule in rules)

    def _found(self, tokens: Utterance, window: Window, index: int, like: Likeness) -> Span:
        named = self._board.phrases[index][1:]
        core = tuple(range(window.start, window.end))
        unlike = tuple(window.start + i for i, *_ in like.unlike)
        score, uneven = min(like.score, 0.99), like.uneven
        return found(tokens, core, named, score, "sounds_alike", uneven=uneven, unlike=unlike)

    def _is_filler(self, like: Likeness) -> bool:
        """ "I'd better" is no butter."""
        return len(like.said) == 1 and like.said[0] in self._said.fillers

    def _has_joint(self, like: Likeness) -> bool:
        """ "Corned beef hash and" is not all of a corned beef hash and eggs; nor is "grilled chicken and
        ranch" a grilled chicken sandwich."""
        joints = self._said.joints
        return like.said[0] in joints or like.said[-1] in joints or not joints.isdisjoint(like.strange)

    def _has_amount(self, like: Likeness) -> bool:
        return any(word in self._said.amounts or word.isdigit() for word in like.strange_edges)

    def _has_other_name(self, like: Likeness) -> bool:
        """ "Three half tandooris" are halves, and no whole ones that sound a little like it; in "a tub of
        veggie cream cheese" the veggie is no noise."""
        names, words = self._board.names, self._board.by_word
        return like.more_words and (
            any((edge,) in names for edge in like.strange_edges)
            or any(word in words for word in like.strange)
        )

    def _is_amount_of(self, like: Likeness) -> bool:
        """ "No ice" is no option of no rice where ice can be had; nor is "an extra shot" extra hot."""
        rest = like.said[1:]
        named = rest in self._board.names or (len(rest) == 1 and rest[0] in self._board.words)
        return named and like.said[0] in self._said.amounts

    def _has_other_word(self, like: Likeness) -> bool:
        """ "Bacon burger" is no Barn burger, where there is bacon: that is not even near."""
        words = self._board.words
        return any(a in words and fuzz.ratio(a, b) < NEAR_WORD * 100 for _, a, b in like.unlike)
