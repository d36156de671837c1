"""The words of ordering in one language: numbers, amounts, cues, little words. Data, and never a menu's.

A language is a folder beside this file, named by its two letters, of TOML files. Each table in them is one
entry of `Language`: what it is `about`, its words, and `examples` of how they are said, which
`tests/unit/test_language.py` walks. Words are written as they are folded (`chart/tokens.py`): small letters,
no apostrophe, singular.

    [refusing_all]
    about = "After these all of a list is refused."
    words = "without hold minus"                # or phrases = ["..."], patterns = ["..."], values = {...}
    examples = ["a burger without onions and pickles"]

`patterns` are alternatives, each of whole words; one that begins with `(^|` says itself where it begins, and
is tried after the others. `pattern` is a single one, in pieces.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

from jellyfish import metaphone
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from schemas.cart import Amount
from schemas.errors import UnknownLanguage
from schemas.menu import Menu

FOLDER = Path(__file__).parent
_TABLE = {"about", "words", "phrases", "pattern", "patterns", "values", "rules", "examples"}


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


def _split(written: Any) -> dict[str, tuple[str, ...]]:
    return {word: tuple(others.split()) for word, others in written.items()}


Words = Annotated[frozenset[str], BeforeValidator(_words)]
Ordered = Annotated[tuple[str, ...], BeforeValidator(_in_order)]
Phrases = Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_phrases)]
Pattern = Annotated[re.Pattern[str], BeforeValidator(_pattern)]
Values = Annotated[Mapping[str, int], BeforeValidator(_by_word)]
Amounts = Annotated[Mapping[str, Amount], BeforeValidator(_by_word)]
Same = Annotated[Mapping[tuple[str, ...], str], BeforeValidator(_by_phrase)]
Split = Annotated[Mapping[str, tuple[str, ...]], BeforeValidator(_split)]
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


class Language(BaseModel):
    """One language's words. A field is an entry, whose `about` in the data says what it is for.

    `code` is its two letters. Phrases are tuples of folded words; patterns are of text as it was said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    code: str

    # folding.toml
    possessives: Ordered
    contractions: Ordered
    contracted: Pattern
    unfolded: Words
    spellings: Names
    plurals: tuple[Rule, ...]
    plural_signs: Ordered

    # numbers.toml
    numbers: Values
    homophones: Values
    wanting: Words
    naming: Words
    multiplying: Words
    unwished: Words
    pieces: Words
    ordinals: Values
    enough: Words
    halves: Words

    # amounts.toml
    amounts: Amounts
    same_as: Same
    same_unless_named: Words
    refusing_all: Words
    amount_fillers: Words
    measures: Words
    further: Words
    only: Words
    only_after: Words
    no_choice: Words
    plain: Words
    as_it_is: Phrases
    too_much: Phrases

    # little.toml
    conjunctions: Words
    alternatives: Words
    joints: Words
    articles: Words
    indefinite_articles: Words
    definite_articles: Words
    one_more: Words
    belonging: Words
    accompanying: Words
    placing: Words
    standing_on: Phrases
    others: Words
    having: Words
    persons: Words
    recipients: Words
    liking: Words
    hesitations: Phrases
    liked: Words
    likened: Words
    politeness: Words
    affirming: Words
    verbs: Names
    fillers: Words

    # things.toml
    vessels: Words
    nicknames: Names
    coffees: Words
    groups: Words
    sorts: Words
    alike: Words

    # corrections.toml
    replacing: Phrases
    refusing_or_replacing: Words
    weak_cues: Words
    adding: Words
    removing: Phrases
    swapping: Phrases
    making: Phrases
    swaps_for: Phrases
    instead_of: Phrases
    in_its_place: Words
    refusing: Words
    unsure: Phrases
    negating: Phrases
    denying: Words
    keeping: Phrases
    particles: Split
    wishing: Words
    between_cues: Words
    nothing: Words
    all_back: Phrases
    all_of_it: Phrases
    adds: Words

    # sharing.toml
    shared: Pattern
    each: Words
    of_everything: Words
    of_each: Words
    of_several: Phrases
    likewise: Pattern
    for_whom: Pattern
    parted: Pattern
    the_other: Words
    theirs: Words
    half_of: Phrases

    # pointing.toml
    again: Phrases
    respects: Words
    other_way: Phrases
    one_of: Phrases
    ones: Words
    telling: Words
    pointing: Words
    some: Words

    # talk.toml
    asked: Pattern
    weighed: Pattern
    tale: Pattern
    idle_talk: Pattern
    before_asking: Words
    requesting: Phrases
    assent: Words
    asking: Words

    # Sets that are looked in for every word, each once.

    @cached_property
    def before_values(self) -> frozenset[str]:
        """What may stand between a correction and the value that it is about."""
        return self.articles | self.amounts.keys()

    @cached_property
    def before_lines(self) -> frozenset[str]:
        """What may stand before a line's own words and is none of them ("could I get")."""
        opening = self.indefinite_articles | self.definite_articles | self.one_more | self.some
        return self.fillers - opening - self.amounts.keys() - self.numbers.keys()

    @cached_property
    def known_words(self) -> frozenset[str]:
        """Words that need no explanation of their own."""
        counted = self.amount_fillers | self.measures | self.further
        return self.fillers | self.plain | self.amounts.keys() | self.numbers.keys() | counted

    @cached_property
    def filler_sounds(self) -> frozenset[str]:
        """What fillers of more than three letters sound like."""
        return frozenset(metaphone(word) for word in self.fillers if len(word) > 3)

    @cached_property
    def company(self) -> frozenset[str]:
        """Whom or what "with" may be followed by, where no option is wished for: "with me", "with that"."""
        pronouns = self.persons | self.recipients | self.pointing | self.others | self.ones
        return pronouns | (self.each - self.of_everything) | self.amounts.keys()

    @cached_property
    def of_part(self) -> frozenset[str]:
        """What may stand between the number of a part and what is said of it: "one of them without"."""
        return self.of_each | self.amounts.keys()

    @cached_property
    def after_sizes(self) -> frozenset[str]:
        """What may follow the size of one more of the same: "and a small one", "and a small with soy"."""
        return self.conjunctions | self.ones | self.accompanying | self.refusing | self.politeness

    @cached_property
    def giving_up(self) -> tuple[tuple[str, ...], ...]:
        """What begins to say what is not meant: "not the slaw", "instead of the fries"."""
        return (*self.instead_of, *((word,) for word in self.denying))

    @cached_property
    def taking_back(self) -> tuple[tuple[str, ...], ...]:
        """What takes something back, whether a rule reads it or none."""
        return (*self.removing, *self.unsure)

    @cached_property
    def measuring(self) -> frozenset[str]:
        """What follows the article of a measure, and not of an item: "a splash of milk"."""
        return self.measures | self.amounts.keys()

    @cached_property
    def before_own(self) -> frozenset[str]:
        """After these an article opens no new item: "half a dozen", "on a brioche bun"."""
        return self.halves | self.placing

    @cached_property
    def before_some(self) -> frozenset[str]:
        """What may stand between "on" and the number of those that are meant: "on just the one"."""
        return self.only | self.definite_articles

    @cached_property
    def partitive_words(self) -> frozenset[str]:
        """The words of `partitives`, one by one."""
        return frozenset(word for phrase in self.of_several for word in phrase)


def known() -> list[str]:
    """The languages that can be read, by their two letters."""
    return sorted(folder.name for folder in FOLDER.iterdir() if (folder / "numbers.toml").is_file())


def language_of(menu: Menu) -> Language:
    """The words of a menu's language; of "en-GB" those of "en".

    Raises:
        UnknownLanguage: there is no folder of it.
    """
    return language(menu.language[:2])


@cache
def language(code: str) -> Language:
    """A language by its two letters, read once.

    Raises:
        UnknownLanguage: there is no folder of it.
        ValueError: its files lack an entry, or have one that is none.
    """
    if code not in known():
        raise UnknownLanguage(code, known())
    found: dict[str, Any] = {"code": code}
    for file in sorted((FOLDER / code).glob("*.toml")):
        for name, table in entries(file).items():
            if name in found:
                raise ValueError(f"{file.name}: {name} stands in another file too")
            found[name] = _value(file, name, table)
    try:
        return Language(**found)
    except ValidationError as error:
        told = "; ".join(
            f"{e['loc'][0]}: {e['msg']}" for e in error.errors(include_url=False, include_input=False)
        )
        raise ValueError(f"language/{code}: {told}") from None


def entries(file: Path) -> dict[str, dict[str, Any]]:
    """The entries of one file as they are written, by name."""
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _value(file: Path, name: str, table: dict[str, Any]) -> Any:
    """What an entry holds. Raises ValueError where it has not one value, or a key that none has."""
    held = table.keys() - {"about", "examples"}
    if len(held) != 1 or not table.keys() <= _TABLE:
        raise ValueError(
            f"{file.name}: {name} needs about, examples, and one of "
            "words, phrases, patterns, pattern, values, rules"
        )
    key = held.pop()
    return any_of(table[key]) if key == "patterns" else table[key]
