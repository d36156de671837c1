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
_VALUES = {"words", "phrases", "pattern", "patterns", "values", "rules"}


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
Word = Annotated[str, BeforeValidator(str.strip)]
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
    participles: Pattern
    participle_signs: Ordered
    abbreviations: Words

    # numbers.toml
    numbers: Values
    nought: Word
    multiples: Words
    multipliers: Words
    halves: Words
    halved: Values
    times: Values
    homophones: Values
    wanting: Words
    naming: Words
    multiplying: Words
    unwished: Words
    pieces: Words
    counted_in_names: Words
    ordinals: Values
    before_pronoun: Words
    enough: Words
    suffices: Words

    # amounts.toml
    amounts: Amounts
    same_as: Same
    same_unless_named: Words
    much: Words
    amounts_after: Words
    refusals: Words
    taken_off: Words
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
    upon: Words
    alternatives: Words
    within_lists: Words
    negations: Words
    please: Words
    apologies: Words
    closing: Words
    conjunctions: Words
    coordinating: Words
    contrasting: Words
    excepting: Words
    joints: Words
    articles: Words
    indefinite_articles: Words
    one_more: Words
    definite_articles: Words
    determiners: Words
    deictics: Words
    speakers: Words
    quantifiers: Words
    demonstratives: Words
    excess: Words
    belonging: Words
    into_things: Words
    including: Words
    besides: Words
    part_has: Words
    placing: Words
    covering: Words
    placed_on: Words
    as_drink: Phrases
    kinds_end: Words
    before_verbs_of_making: Words
    objects_of_making: Words
    prepositions: Words
    accompanying: Words
    partitive: Words
    standing_on: Phrases
    others: Words
    having: Words
    getting: Words
    to_drink: Phrases
    recipients: Words
    serving: Words
    past: Words
    persons: Words
    plural_persons: Words
    plural_pronouns: Words
    copulas: Words
    existing: Words
    of_us: Phrases
    liking: Words
    hesitations: Phrases
    liked: Words
    likened: Words
    politeness: Words
    affirming: Words
    verbs: Names
    describing: Words
    fillers: Words

    # things.toml
    vessels: Words
    qualifying: Words
    nicknames: Names
    coffees: Words
    unmilked: Words
    groups: Words
    occasions: Words
    alike: Words

    # foods.toml
    dish_sorts: Words
    choice_sorts: Words
    made_of: Words
    bundles: Words
    holders: Words
    heads: Words
    plain_heads: Words
    staples: Words
    tastes: Words
    grains: Words
    drinks_understood: Words
    omissible: Words
    defining: Words
    qualities: Words
    naming_alone: Words
    said_of_many: Words

    # corrections.toml
    replacing: Phrases
    refusing_or_replacing: Words
    weak_cues: Words
    adding: Words
    removing: Phrases
    swapping: Phrases
    making: Phrases
    swaps_for: Phrases
    exchanging: Words
    instead_of: Phrases
    in_its_place: Words
    refusing: Words
    unsure: Phrases
    negating: Phrases
    denying: Words
    keeping: Phrases
    particles: Split
    returning: Split
    before_verbs: Words
    wishing: Words
    between_cues: Words
    nothing: Words
    all_back: Phrases
    all_of_it: Phrases
    adds: Words

    # sharing.toml
    shared: Pattern
    each: Words
    distributive: Words
    apiece: Words
    dual: Words
    either: Words
    none_of: Words
    of_everything: Words
    of_each: Words
    of_part: Words
    of_those: Phrases
    any_of: Phrases
    leading: Words
    of_several: Phrases
    likewise: Pattern
    for_whom: Pattern
    parted: Pattern
    the_other: Words
    theirs: Words
    half_of: Phrases

    # pointing.toml
    again: Phrases
    same_size: Phrases
    joining: Words
    respects: Words
    other_way: Phrases
    one_of: Phrases
    ones: Words
    telling: Words
    pointing: Words
    some: Words
    summing: Words

    # talk.toml
    asked: Pattern
    weighed: Pattern
    tale: Pattern
    ending_tales: Words
    idle_talk: Pattern
    allergies: Words
    before_asking: Words
    requesting: Phrases
    assent: Words
    asking: Words

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
        return self.definite_articles | self.indefinite_articles | self.one_more

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
    def turning(self) -> frozenset[str]:
        """What begins something that differs from what was said before it, or is left out of it."""
        return self.contrasting | self.excepting

    @cached_property
    def between_listed(self) -> frozenset[str]:
        """What stands between the names of one list: "lettuce, tomato or the onion"."""
        return self.conjunctions | self.alternatives | self.definite_articles

    @cached_property
    def before_thing(self) -> frozenset[str]:
        """What stands between a preposition and its thing: "with just the", "on my"."""
        return self.determiners | self.only

    @cached_property
    def before_part(self) -> frozenset[str]:
        """What stands between a number, or a word of sharing, and what is said of that part."""
        return self.of_part | self.amounts.keys()

    @cached_property
    def swap_cues(self) -> tuple[tuple[str, ...], ...]:
        """What begins a swap: of one thing for another, or "make the milk almond"."""
        return (*self.swapping, *self.making)

    @cached_property
    def referring(self) -> frozenset[str]:
        """What leads to a thing that was spoken of: "the small one", "those burgers"."""
        return self.definite_articles | self.deictics

    @cached_property
    def before_choice(self) -> frozenset[str]:
        """What stands before a choice and belongs to it: "two pumps of", "a", "some"."""
        leading = self.indefinite_articles | self.some | self.quantifiers
        return leading | self.measures | self.amounts.keys()

    @cached_property
    def before_the_one(self) -> frozenset[str]:
        """What stands between a preposition and the one of several that it is of: "on just the one"."""
        return self.definite_articles | self.only

    @cached_property
    def of_two(self) -> frozenset[str]:
        """What says something of two, or of whichever of two: "both with oat", "no mayo on either"."""
        return self.dual | self.either

    @cached_property
    def which_one(self) -> frozenset[str]:
        """What tells which one of several is meant, or that all are: "on the other", "in each", "on hers"."""
        one = self.the_other | self.theirs | self.ordinals.keys() | self.ones
        return one | self.each | self.either | self.none_of

    @cached_property
    def before_unlisted(self) -> frozenset[str]:
        """What leads to something that is wished for, though the menu does not have it."""
        return self.having | self.serving | self.indefinites | self.some | self.accompanying

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
    if len(held) != 1 or not held <= _VALUES:
        raise ValueError(
            f"{file.name}: {name} needs about, examples, and one of {', '.join(sorted(_VALUES))}"
        )
    key = held.pop()
    return any_of(table[key]) if key == "patterns" else table[key]
