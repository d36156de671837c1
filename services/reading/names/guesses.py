"""Guesses: what words that nothing accounts for may have been, before the recogniser got them wrong.

"maca" for mocha, "dark crow's" for dark roast. A guess opens a value for the model to choose, so that the
reviewer finds the right cart proposed; it never spares the review, since its words stay unexplained.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import jellyfish
from rapidfuzz import fuzz, process

from services.reading.effort import charge

# Indel similarity that is enough for a guess; sounding the same is enough by itself.
LIKE, LIKE_SHORT, SHORT_CHARS = 0.68, 0.75, 5
WIDEST = 3


def sounds(joined: str) -> set[str]:
    """Metaphone codes of a name; "ch" is also read as in "mocha"."""
    return {jellyfish.metaphone(joined), jellyfish.metaphone(joined.replace("ch", "k"))}


def guess(
    words: Sequence[str], unexplained: set[int], names: Sequence[str]
) -> Iterable[tuple[int, int, int]]:
    """For runs of unexplained words, the likeliest name: (start, end, index of the name), best first and
    without overlaps. `words` are folded, `unexplained` are positions in them; a run holds no other."""
    windows = [
        (i, j, "".join(words[i:j]))
        for i in sorted(unexplained)
        for j in range(i + 1, min(i + WIDEST, len(words)) + 1)
        if all(k in unexplained for k in range(i, j))
    ]
    windows = [w for w in windows if len(w[2]) >= 4]
    if not windows or not names:
        return []
    charge(len(names) + len(windows) * len(names))
    likeness = process.cdist([w[2] for w in windows], names, scorer=fuzz.ratio) / 100
    codes = [sounds(name) for name in names]
    rated: list[tuple[float, int, int, int]] = []
    for w, (i, j, joined) in enumerate(windows):
        said = jellyfish.metaphone(joined)
        for n, name in enumerate(names):
            alike = len(said) > 1 and said in codes[n]
            needed = LIKE if min(len(joined), len(name)) > SHORT_CHARS else LIKE_SHORT
            if alike or likeness[w, n] >= needed:
                rated.append((float(likeness[w, n]) + 0.2 * alike, i, j, n))
    rated.sort(key=lambda r: (-r[0], r[1]))
    taken: set[int] = set()
    best: list[tuple[int, int, int]] = []
    for _, i, j, n in rated:
        if not taken & set(range(i, j)):
            best.append((i, j, n))
            taken |= set(range(i, j))
    return best
