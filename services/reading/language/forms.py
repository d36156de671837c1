"""How the words of an entry are written in a language's files, and what is made of them: sets, phrases,
patterns, words by their value, and rules for endings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from schemas.cart import Amount


def _words(written: Any) -> frozenset[str]:
    return frozenset(written.split())


def _in_order(written: Any) -> tuple[str, ...]:
    return tuple(written.split())


def _phrases(written: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(phrase.split()) for phrase in written)


def _pattern(written: Any) -> re.Pattern[str]:
    return re.compile("".join(written), re.IGNORECASE)


def any_of(alternatives: list[str]) -> list[str]:
    """One pattern, in pieces, that fits where any of several does."""
    whole = [one for one in alternatives if not one.startswith("(^|")]
    words = [r"\b(?:" + "|".join(whole) + ")"] if whole else []
    others = [one for one in alternatives if one not in whole]
    return ["(?:", "|".join([*words, *others]), r")(?!\w)"]


def _by_word(written: Any) -> dict[str, Any]:
    """`{none = "no without"}` by word: each word with its value."""
    return {word: value for value, words in written.items() for word in words.split()}


def _by_phrase(written: Any) -> dict[tuple[str, ...], str]:
    """`{light = ["not too much"]}` by phrase: each with the word that says the same."""
    return {tuple(phrase.split()): word for word, phrases in written.items() for phrase in phrases}


Words = Annotated[frozenset[str], BeforeValidator(_words)]
Word = Annotated[str, BeforeValidator(str.strip)]
Ordered = Annotated[tuple[str, ...], BeforeValidator(_in_order)]
Phrases = Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_phrases)]
Pattern = Annotated[re.Pattern[str], BeforeValidator(_pattern)]
Values = Annotated[Mapping[str, int], BeforeValidator(_by_word)]
Amounts = Annotated[Mapping[str, Amount], BeforeValidator(_by_word)]
Same = Annotated[Mapping[tuple[str, ...], str], BeforeValidator(_by_phrase)]
Names = Mapping[str, str]


class Rule(BaseModel):
    """How a word longer than so many letters changes: its end, a pattern, becomes other letters."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    longer_than: int
    ends: Annotated[re.Pattern[str], BeforeValidator(lambda ends: re.compile(f"(?:{ends})$"))]
    becomes: str

    def of(self, word: str) -> str | None:
        """The word as it is after the rule; None where it does not fit."""
        changed, times = self.ends.subn(self.becomes, word) if len(word) > self.longer_than else (word, 0)
        return changed if times else None
