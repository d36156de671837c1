"""Where a transcript names something of a menu: exact, one sound off, in pieces, or in part.

Names and aliases of items, options and sizes are folded (case, plural, number words) and looked for in
every window of the transcript. Which of the mentions stand is the business of `chart/resolve.py` and
`senses.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.resolve import (
    GAPPED,
    GUESS,
    PART,
    SHORT,
    Found,
    closes,
    counted,
    filled,
    settle,
    strange,
)
from services.reading.chart.tokens import PAUSES, Utterance, fluent, tokenize
from services.reading.effort import charge
from services.reading.names.alike import Ear
from services.reading.names.board import Board
from services.reading.names.elisions import done, kinds, numbered, prepared
from services.reading.names.guesses import guess
from services.reading.names.parts import parts_of_names
from services.reading.names.whole_names import said_whole

STRONG = 0.8


class Lexicon:
    """Every name of one menu version, ready to be looked for. Build once a version: 9 ms for 40 items, 0.7 s
    for 10,000."""

    def __init__(self, menu: Menu) -> None:
        self._board = Board(menu)
        self._ear = Ear(self._board)
        self._verbs = prepared(self._board.phrases, self._board.language)
        self.choices, self.generic = self._board.choices, self._board.generic

    @property
    def words(self) -> Collection[str]:
        """Every word of a name, folded."""
        return self._board.words

    def items(self, *words: str) -> list[tuple[tuple[str, ...], str]]:
        """Names of items, folded, that hold each of `words`, and whose they are."""
        return self._board.items(*words)

    def of_sort(self, group: str) -> Mapping[tuple[str, ...], str]:
        """What follows the sort of a group's choices in names of items, folded, and whose names these are."""
        return self._board.by_sort.get(group, {})

    def begins(self, word: str, rest: tuple[str, ...]) -> bool:
        """Whether `word` sounds like the first word of an item's name that goes on with `rest`."""
        return self._ear.begins(word, rest)

    def heard(self, text: str) -> Utterance:
        """The words of `text`, without hesitations, as this menu's names are folded."""
        told = numbered(fluent(tokenize(text, self._board.language), self.words), self._board.names)
        return done(told, self._verbs, self._board.names)

    def find(self, text: str, tokens: Utterance) -> list[Mention]:
        """All mentions in `text`, in order; none lies strictly inside another."""
        by_place: dict[tuple[str, tuple[int, ...]], list[Found]] = defaultdict(list)
        for f in self.resolved(tokens, self.candidates(tokens)):
            by_place[f.kind, f.core].append(f)
        return sorted(
            (
                _mention(text, tokens, kind, core, self._as_written(text, tokens, fs))
                for (kind, core), fs in by_place.items()
            ),
            key=lambda m: (m.start, m.end),
        )

    def candidates(self, tokens: Utterance) -> list[Found]:
        """Every place that may name something, as each rule finds it by itself."""
        return [*said_whole(self._board, tokens), *self._short(tokens), *self._ear.find(tokens)]

    def resolved(self, tokens: Utterance, found: list[Found]) -> list[Found]:
        """The candidates that stand; beside them what only the rest of the words tells: a kind of what was
        named, a part of a name, a guess."""
        found, kept = self._sound(tokens, found)
        if elided := list(kinds(tokens, kept, self.items)):
            kept = settle([*found, *elided])
        kept = [f for f in kept if not counted(tokens, f, kept)]
        covered = {i for f in kept for i in f.core}
        kept += settle([f for f in parts_of_names(self._board, tokens) if not covered & set(f.core)])
        return [*self._guesses(tokens, kept), *kept]

    def _sound(self, tokens: Utterance, found: list[Found]) -> tuple[list[Found], list[Found]]:
        """The candidates that leave no word without a sense, and those of them that stand."""
        around = [f for f in found if f.kind == "item" and f.score == GAPPED]
        charge(len(found) * len(around) // 4)
        found = [f for f in found if not any(closes(g, f) for g in around)]
        kept = settle(found)
        if hollow := {f for f in kept if not filled(tokens, f, kept)}:
            found = [f for f in found if f not in hollow]
            kept = settle(found)
        if lost := strange(tokens, found, kept, self._board.offers):
            found = [f for f in found if (f.group, f.core) not in lost]
            kept = settle(found)
        return found, kept

    def _as_written(self, text: str, tokens: Utterance, alike: list[Found]) -> list[Found]:
        """Those whose name is written just so, where there are any: "pepper" is the black one, and no green
        peppers."""
        core = alike[0].core
        said = text[tokens[core[0]].start : tokens[core[-1]].end].casefold()
        exact = [f for f in alike if said in self._board.written[f.kind, f.group, f.id]]
        return [*exact, *(f for f in alike if f.score == SHORT)] if exact else alike

    def _short(self, tokens: Utterance) -> list[Found]:
        """Short forms of names, said in one piece. What leaves out the sort of thing may be a part of another
        one beside it: "with turkey", "a turkey club"."""
        found = []
        for start, token in enumerate(tokens):
            for words, kind, group, ref, bare in self._board.shorts.get(token.folded, ()):
                end = start + len(words)
                if tuple(t.folded for t in tokens[start:end]) != words:
                    continue
                if any(t.after in PAUSES for t in tokens[start : end - 1]):
                    continue
                if bare and kind == "item" and self._of_another(tokens, start, end):
                    continue
                found.append(Found(kind, group, ref, tuple(range(start, end)), SHORT, "short_name"))
        return found

    def _of_another(self, tokens: Utterance, start: int, end: int) -> bool:
        """Whether what stands beside a short form may be what it belongs to."""
        return _is_led_into(tokens, start) or self._leads_to_thing(tokens, end)

    def _leads_to_thing(self, tokens: Utterance, end: int) -> bool:
        """Whether a thing follows: "a turkey club", where the club may be a sandwich or unknown."""
        if end == len(tokens) or tokens[end - 1].after:
            return False
        word, said = tokens[end].folded, tokens.language
        if word in said.function_words or word in said.measures or word.isdigit():
            return False
        return bool(self.items(word)) or not (word in self.words or word in self.generic)

    def _guesses(self, tokens: Utterance, kept: list[Found]) -> list[Found]:
        """Names for words that nothing accounts for; a part of a name beside them may belong to it."""
        known = tokens.language.function_words
        whole = {i for f in kept if f.score > PART for i in f.core}
        parts = {i for f in kept for i in f.core} - whole
        lost = {
            i
            for i, token in enumerate(tokens)
            if i not in whole and token.folded not in known and not token.folded.isdigit()
        }
        found = []
        for start, end, index in guess([t.folded for t in tokens], lost, self._ear.joined):
            _, kind, group, ref = self._board.phrases[index]
            core = tuple(range(start, end))
            if set(core) - parts:
                found.append(Found(kind, group, ref, core, GUESS, "guess"))
        return found


def _is_led_into(tokens: Utterance, start: int) -> bool:
    """Whether what follows is something on or in a thing, and no thing: "with turkey"."""
    if not start or tokens[start - 1].after:
        return False
    before, said = tokens[start - 1].folded, tokens.language
    return before in said.belonging or before in said.amounts or before in said.into_things


def _mention(text: str, tokens: Utterance, kind: str, core: tuple[int, ...], fs: list[Found]) -> Mention:
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
