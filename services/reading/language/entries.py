"""The entries that a language has, by the file that they stand in: their reason stands beside them there."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from services.reading.language.forms import (
    Amounts,
    Names,
    Ordered,
    Pattern,
    Phrases,
    Rule,
    Same,
    Values,
    Word,
    Words,
)  # fmt: skip


class Entries(BaseModel):
    """All of them. Phrases are tuples of folded words; patterns are of text as it was said."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    code: str

    # folding.toml
    accents: Names
    numbered: Pattern
    possessives: Ordered
    contractions: Ordered
    contracted: Pattern
    unfolded: Words
    spellings: Names
    plurals: tuple[Rule, ...]
    plural_signs: Ordered
    plural_word: Pattern
    participle_signs: Ordered
    abbreviations: Words

    # numbers.toml
    numbers: Values
    between_tens: Words
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
    pieces: Words
    counted_in_names: Words

    # amounts.toml
    amounts: Amounts
    same_as: Same
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
    joints: Words
    articles: Words
    indefinite_articles: Words
    one_more: Words
    definite_articles: Words
    determiners: Words
    deictics: Words
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
    before_kinds: Words
    before_verbs_of_making: Words
    objects_of_making: Words
    accompanying: Words
    partitive: Words
    standing_on: Phrases
    others: Words
    having: Words
    to_drink: Phrases
    recipients: Words
    persons: Words
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
    qualifying: Words
    nicknames: Names
    coffees: Words
    unmilked: Words
    groups: Words
    occasions: Words

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
    swaps_for: Phrases
    instead_of: Phrases
    in_its_place: Words
    refusing: Words
    unsure: Phrases
    negating: Phrases
    denying: Words
    between_cues: Words
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

    # pointing.toml
    again: Phrases
    respects: Words
    ones: Words
    pointing: Words
    some: Words

    # talk.toml
    asked: Pattern
    weighed: Pattern
    idle_talk: Pattern
    asking: Words
