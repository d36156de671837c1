"""Names of a menu that words spell or sound almost like, though nobody said them so."""

from __future__ import annotations

import jellyfish
import numpy as np
from rapidfuzz import fuzz, process

from services.reading.chart.resolve import Found
from services.reading.chart.tokens import PAUSES, Token, Utterance
from services.reading.effort import charge
from services.reading.language.english import AMOUNTS, FILLERS, JOINTS
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


class Ear:
    """Hears names of a board in words that are almost theirs."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self.joined = ["".join(words) for words, *_ in board.phrases]
        self._metaphones = [jellyfish.metaphone(joined) for joined in self.joined]

    def begins(self, word: str, rest: tuple[str, ...]) -> bool:
        """Whether `word` sounds like the first word of an item's name that goes on with `rest`."""
        return any(
            name[1:] == rest and name[0] != word and fuzz.ratio(name[0], word) >= NEAR_WORD * 100
            for name, _ in self._board.items(*rest)
        )

    def find(self, tokens: Utterance) -> list[Found]:
        """Names that a window of the transcript spells or sounds almost like."""
        widest = max(len(words) for words, *_ in self._board.phrases) + 1
        charge(len(tokens) * min(widest, len(tokens)))
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
        charge(len(texts) * len(self.joined) // CELLS)
        scores = process.cdist(texts, self.joined, scorer=fuzz.ratio, score_cutoff=FUZZY_LONG * 100) / 100
        found = []
        rows, columns = np.nonzero(scores)
        charge(len(rows) * A_LIKENESS)
        for w, p in zip(rows, columns, strict=True):
            i, j, joined = windows[w]
            words, kind, group, ref = self._board.phrases[p]
            score, size = float(scores[w, p]), min(len(joined), len(self.joined[p]))
            sounds_alike = size >= 5 and jellyfish.metaphone(joined) == self._metaphones[p]
            needed = FUZZY_LONG if size >= LONG_CHARS or sounds_alike else FUZZY_SHORT
            edges = {tokens[i].folded, tokens[j - 1].folded} - set(words)
            inner = {token.folded for token in tokens[i:j]} - set(words)
            if (
                score < needed
                # "One six piece" is no sixteen piece, though it is spelled like it.
                # "I'd better" is no butter.
                or (j - i == 1 and tokens[i].folded in FILLERS)
                or [t.folded for t in tokens[i:j] if t.folded.isdigit()] != [w for w in words if w.isdigit()]
                # "Corned beef hash and" is not all of a corned beef hash and eggs.
                or (score < 1 and {tokens[i].folded, tokens[j - 1].folded} & JOINTS)
                or abs(j - i - len(words)) > 1
                or (score < 1 and any(e in AMOUNTS or e.isdigit() for e in edges))
                # "Three half tandooris" are halves, and no whole ones that sound a little like it.
                or (score < 1 and j - i > len(words) and any((e,) in self._board.names for e in edges))
                # In "a tub of veggie cream cheese" the veggie is no noise.
                or (score < 1 and j - i > len(words) and inner & self._board.by_word.keys())
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
            core = tuple(range(i, j))
            found.append(Found(kind, group, ref, core, min(score, 0.99), "sounds_alike", uneven, unlike))
        return found

    def _said(self, tokens: list[Token]) -> bool:
        """Whether words are a whole name or one word of one: "an extra shot" of espresso is no extra hot."""
        words = tuple(token.folded for token in tokens)
        return words in self._board.names or (len(words) == 1 and words[0] in self._board.words)

    def _another(self, said: str, word: str) -> bool:
        """Whether a word of the menu was said that is not even near a name's own."""
        return said in self._board.words and fuzz.ratio(said, word) < NEAR_WORD * 100

    @staticmethod
    def _word_by_word(said: list[str], name: tuple[str, ...]) -> bool:
        """Whether likeness is spread over the words: "get caramel macchiato" and "hot caramel macchiato" are
        no iced ones, however much else they share with it."""
        if {said[0], said[-1]} & FILLERS - set(name):
            return False
        if len(said) != len(name):
            return True
        return all(fuzz.ratio(a, b) >= FUZZY_WORD * 100 for a, b in zip(said, name, strict=True))
