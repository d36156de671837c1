"""The words of ordering in one language: numbers, amounts, cues, little words. Data, and never a menu's.

A language is a folder beside this file, named by its two letters, of TOML files. Each table in them is one
entry of `Language`: what it is `about`, its words, and `examples` of how they are said, which
`tests/unit/reading/test_language.py` walks. Words are written as they are folded (`chart/tokens.py`): small
letters, no apostrophe, singular.

    [refusing_all]
    about = "After these all of a list is refused."
    words = "without hold minus"                # or phrases = ["..."], patterns = ["..."], values = {...}
    examples = ["a burger without onions and pickles"]

An example may also be `{ said = "...", means = "a cart" }`: so it is read, and accepted; with `doubt = true`
it is a doubt all the same, and where the words leave no one cart it says that alone.

`closed` marks words of a closed class of the grammar, as numbers are; `guards` marks words without which
something would be ordered that the customer did not order. Each names its kind where the whole entry is of
it, else it is a table of kinds with their members.

`patterns` are alternatives, each of whole words; one that begins with `(^|` says itself where it begins, and
is tried after the others. `pattern` is a single one, in pieces.

A language that has nothing of a kind says so: the words of the entry are empty (its pattern is `(?!)`, which
fits nowhere), its `about` tells why, and its examples show what is said instead.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from jellyfish import metaphone
from pydantic import ValidationError

from schemas.errors import UnknownLanguage
from schemas.menu import Menu
from services.reading.language.entries import Entries
from services.reading.language.forms import any_of

FOLDER = Path(__file__).parent
MEASURED = frozenset({"en"})
"""Languages in which it was measured how far a second opinion may be believed: a second hearing, a second
recogniser, the learned reader. In others none of them takes a doubt away, however sure it is."""
_VALUES = {"words", "phrases", "pattern", "patterns", "values", "rules"}


class Language(Entries):
    """One language's words: its entries, whose `code` is its two letters, and what is joined from them once,
    since it is looked in for every word."""

    @cached_property
    def word(self) -> re.Pattern[str]:
        """What is a word. A number and the letters that it is written together with are two, as they are
        said: "8oz" is "eight ounce", a "V60" a "vee sixty"; not where they are `numbered`, "the 2nd"."""
        others = r"\d+(?:['’]\w+)?|[^\W\d]+(?:['’]\w+)?|[%&]"
        return re.compile(rf"\b(?:{self.numbered.pattern})\b|{others}", re.IGNORECASE)

    @cached_property
    def plain_letters(self) -> Mapping[int, str]:
        """Letters with an accent by what they become, as `str.translate` takes them."""
        return str.maketrans(dict(self.accents))

    @cached_property
    def number_names(self) -> Mapping[int, str]:
        """The plain word of each number that has one: the first written for it ("two", not "double")."""
        named = {value: word for word, value in reversed(list(self.numbers.items()))}
        return named | {0: self.nought}

    @cached_property
    def counted_by_names(self) -> frozenset[str]:
        """What a number that a name begins with counts: "a six inch", "a two scoop cup"."""
        return self.pieces | self.measures | self.counted_in_names

    @cached_property
    def before_one(self) -> frozenset[str]:
        """Before "one", where it stands for a thing: "a lemon one", "the lemon one", "another one"."""
        return self.definite_articles | self.indefinites

    @cached_property
    def no_things(self) -> frozenset[str]:
        """They close names, and are not what is ordered."""
        return self.measures | self.vessels | self.joints

    @cached_property
    def function_words(self) -> frozenset[str]:
        """Words that name nothing of a menu by themselves, whatever names hold them."""
        return self.fillers | self.joints | self.amounts.keys() | self.numbers.keys()

    @cached_property
    def above(self) -> frozenset[str]:
        """What stands before the thing that something goes on: "on the", "over the"."""
        return self.placing | self.covering

    @cached_property
    def leading_words(self) -> frozenset[str]:
        """What follows them goes with them, whatever hesitation is between."""
        return self.joints | self.amounts.keys()

    @cached_property
    def counting_options(self) -> frozenset[str]:
        """After a number they tell that it counts an option: "two extra shots", "two pumps of vanilla"."""
        return self.further | self.measures

    @cached_property
    def between_count(self) -> frozenset[str]:
        """May stand between a number and what it counts."""
        return self.amount_fillers | self.counting_options

    @cached_property
    def between_count_and_option(self) -> frozenset[str]:
        """Likewise, but for what leads from an item to its options."""
        return self.between_count - self.accompanying

    @cached_property
    def indefinites(self) -> frozenset[str]:
        """What leads to one thing, or one more."""
        return self.indefinite_articles | self.one_more

    @cached_property
    def before_the_one(self) -> frozenset[str]:
        """What stands between a preposition and the one of several that it is of: "on just the one"."""
        return self.definite_articles | self.only

    @cached_property
    def before_values(self) -> frozenset[str]:
        """What may stand between a correction and the value that it is about."""
        return self.articles | self.amounts.keys()

    @cached_property
    def before_lines(self) -> frozenset[str]:
        """What may stand before a line's own words and is none of them ("could I get")."""
        opening = self.before_one | self.some
        return self.fillers - opening - self.amounts.keys() - self.numbers.keys()

    @cached_property
    def known_words(self) -> frozenset[str]:
        """Words that need no explanation of their own."""
        return self.fillers | self.plain | self.amounts.keys() | self.numbers.keys() | self.between_count

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
    def of_each_part(self) -> frozenset[str]:
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
    def partitive_words(self) -> frozenset[str]:
        """The words of `of_several`, one by one."""
        return frozenset(word for phrase in self.of_several for word in phrase)


def measured(code: str) -> bool:
    """Whether second opinions are believed in a language ("en", "en-US")."""
    return code[:2] in MEASURED


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
    held = table.keys() - {"about", "examples", "closed", "guards"}
    if len(held) != 1 or not held <= _VALUES:
        raise ValueError(
            f"{file.name}: {name} needs about, examples, and one of {', '.join(sorted(_VALUES))}"
        )
    key = held.pop()
    return any_of(table[key]) if key == "patterns" else table[key]
