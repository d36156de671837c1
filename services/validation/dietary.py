"""Recognize what customers say of allergies, diets and the contents of a dish, in English and Spanish.

The sentence gives it away, not the food: a condition, a reaction of the body, a restriction ("can't have",
"off dairy"), a question about contents, or a reason that isn't a taste ("..., so no onions"). Any word can
stand where the food does. "No onions" or "nuts on top" alone match none of these. The shapes are in
`dietary.toml`. Text is compared without case, accents and punctuation, as recognizers may leave them out.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import jellyfish

CONTEXT_WORDS = 5
LETTERS_PER_SLIP = 5
"""A word may differ from a condition by one letter for each so many of the condition's."""


_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _any_of(name: str) -> str:
    return re.sub(r"<(\w+)>", lambda inner: _any_of(inner[1]), "(?:" + "|".join(_LISTS[name]) + ")")


_PATTERNS = {
    name: re.compile(rf"\b{_any_of(name)}\b")
    for name in ("against", "always", "asks", "unless_named", "harmless")
}


def mentions(text: str, names: Iterable[str], noted: Iterable[str] = ()) -> list[str]:
    """Return each mention of an allergy, a diet or a dish's contents that none of the pieces `noted` covers,
    with the words around it. `names` are those of what is in the cart: "a vegan burger" may only be one."""
    spoken = list(re.finditer(r"[^\W_]+(?:['’][^\W_]+)*", text))
    folded = _PATTERNS["harmless"].sub(_blank, " ".join(_folded(word.group()) for word in spoken))
    places = [match.span() for match in _PATTERNS["always"].finditer(folded)]
    called = [_folded(name) for name in names]
    places += [*_unnamed(folded, called), *_misspelt(folded, called)]
    covered = [(at, at + len(note)) for note in noted if (at := text.find(note)) >= 0]
    result, reach = list[str](), -1
    for begin, end in sorted(places):
        first, last = (folded.count(" ", 0, place) for place in (begin, max(begin + 1, end - 1)))
        start, stop = spoken[first].start(), spoken[last].end()
        if first <= reach or any(start < upto and since < stop for since, upto in covered):
            continue
        reach = min(len(spoken) - 1, max(first + CONTEXT_WORDS, last))
        result.append(text[spoken[max(0, first - CONTEXT_WORDS)].start() : spoken[reach].end()])
    return result


def asks_of_dish(text: str) -> bool:
    """Return True if `text` may ask what is in a dish or how it is made."""
    return "?" in text or _PATTERNS["asks"].search(_folded(text)) is not None


def allergen_in(words: str) -> str | None:
    """Return what an allergy is plainly said to be against ("peanuts and eggs"), or None."""
    match = _PATTERNS["against"].search(_folded(words))
    return match.group() if match else None


def telling_name(name: str, aliases: Iterable[str]) -> str:
    """Return the longest of an item's names that speaks of a diet; `name` if none does."""
    telling = [one for one in (name, *aliases) if _PATTERNS["unless_named"].search(_folded(one))]
    return max(telling, key=len, default=name)


def _blank(match: re.Match[str]) -> str:
    """Return as many words that mean nothing."""
    return "_" + re.sub(r"\w", "_", match.group())[1:]


def _unnamed(folded: str, names: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of diet words said more often than the cart has things that are called so."""
    said: Counter[str] = Counter()
    for match in _PATTERNS["unless_named"].finditer(folded):
        words = match.group()
        said[words] += 1
        if said[words] > sum(words in name for name in names):
            yield match.span()


def _misspelt(folded: str, names: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of words, and of pairs written as one, that are spelled almost like a condition."""
    known = {*_LISTS["nearly"], *" ".join(names).split()}
    words = list(re.finditer(r"\w+", folded))
    spans = [word.span() for word in words]
    spans += [(one.start(), two.end()) for one, two in pairwise(words)]
    for start, end in spans:
        letters = folded[start:end].replace(" ", "")
        if letters not in known and any(_alike(letters, condition) for condition in _LISTS["nearly"]):
            yield start, end


def _alike(letters: str, condition: str) -> bool:
    """Return True if this may be `condition` misspelt. A short one must be whole: Celia is a name."""
    return (
        letters[0] == condition[0]
        and len(letters) >= min(len(condition), 7)
        and jellyfish.damerau_levenshtein_distance(letters, condition) <= len(condition) // LETTERS_PER_SLIP
    )


def _folded(text: str) -> str:
    """Return `text` in lower case without accents, apostrophes and punctuation."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", re.sub(r"['’]", "", plain)))
