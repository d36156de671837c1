"""Guesses: what words that nothing accounts for may have been, before the recogniser got them wrong.

"maca" for mocha, "dark crow's" for dark roast. A guess opens a value for the model to choose, so that the
reviewer finds the right cart proposed; it never spares the review, since its words stay unexplained.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import jellyfish
from rapidfuzz import fuzz, process

from services.reading.chart.chart import Chart
from services.reading.chart.span import GUESS, PART, found
from services.reading.effort import charge
from services.reading.names.lexicon import Lexicon

# Indel similarity that is enough for a guess; sounding the same is enough by itself.
LIKE, LIKE_SHORT, SHORT_CHARS = 0.68, 0.75, 5
WIDEST = 3
# Start and end of words, and the words joined.
Window = tuple[int, int, str]


def guess_names(chart: Chart, lexicon: Lexicon) -> Chart:
    """Names for words that nothing accounts for; a part of a name beside them may belong to it."""
    tokens, known = chart.words, chart.words.language.function_words
    whole = {i for span in chart.standing if span.score > PART for i in span.core}
    parts = {i for span in chart.standing for i in span.core} - whole
    lost = {
        i
        for i, token in enumerate(tokens)
        if i not in whole and token.folded not in known and not token.folded.isdigit()
    }
    guesses = []
    for start, end, index in guess([t.folded for t in tokens], lost, lexicon.ear.joined):
        _, kind, group, ref = lexicon.board.phrases[index]
        core = tuple(range(start, end))
        if set(core) - parts:
            guesses.append(found(tokens, core, (kind, group, ref), GUESS, "guess"))
    return chart.standing_so([*guesses, *chart.standing], guesses)


def sounds(joined: str) -> set[str]:
    """Metaphone codes of a name; "ch" is also read as in "mocha"."""
    return {jellyfish.metaphone(joined), jellyfish.metaphone(joined.replace("ch", "k"))}


def guess(
    words: Sequence[str], unexplained: set[int], names: Sequence[str]
) -> Iterable[tuple[int, int, int]]:
    """For runs of unexplained words, the likeliest name: (start, end, index of the name), best first and
    without overlaps. `words` are folded, `unexplained` are positions in them; a run holds no other."""
    windows = _windows(words, unexplained)
    if not windows or not names:
        return []
    charge(len(names) + len(windows) * len(names))
    rated = sorted(_rated(windows, names), key=lambda r: (-r[0], r[1]))
    taken: set[int] = set()
    best: list[tuple[int, int, int]] = []
    for _, i, j, n in rated:
        if taken.isdisjoint(range(i, j)):
            best.append((i, j, n))
            taken.update(range(i, j))
    return best


def _windows(words: Sequence[str], unexplained: set[int]) -> list[Window]:
    """Runs of unexplained words that are long enough to be a name."""
    windows = []
    for i in sorted(unexplained):
        for j in range(i + 1, min(i + WIDEST, len(words)) + 1):
            if j - 1 not in unexplained:
                break
            windows.append((i, j, "".join(words[i:j])))
    return [window for window in windows if len(window[2]) >= 4]


def _rated(windows: Sequence[Window], names: Sequence[str]) -> Iterator[tuple[float, int, int, int]]:
    """How like each window is to each name that it may be: (likeness, start, end, index of the name)."""
    likeness = process.cdist([w[2] for w in windows], names, scorer=fuzz.ratio) / 100
    codes = [sounds(name) for name in names]
    for w, (i, j, joined) in enumerate(windows):
        code = jellyfish.metaphone(joined)
        for n, name in enumerate(names):
            alike = len(code) > 1 and code in codes[n]
            enough = LIKE if min(len(joined), len(name)) > SHORT_CHARS else LIKE_SHORT
            if alike or likeness[w, n] >= enough:
                yield float(likeness[w, n]) + 0.2 * alike, i, j, n
