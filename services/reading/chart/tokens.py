"""The words of a transcript: folded to what sounds the same, with their places, pauses and hesitations."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from services.reading.effort import charge
from services.reading.language.language import Language

Folded = tuple[str, ...]

SENTENCE_ENDS = (".", "?", "!")
PAUSES = (*SENTENCE_ENDS, ",", ";", ":")
_TENS = frozenset(str(number) for number in range(20, 100, 10))
_ONES = frozenset(str(number) for number in range(1, 10))
_QUOTES = " \t\n'\"‘’“”()[]*"


@dataclass(frozen=True, slots=True)
class Token:
    """One word of the transcript with its place; `after` is the punctuation that follows it."""

    folded: str
    start: int
    end: int
    after: str


class Utterance(list[Token]):
    """What was said, as tokens in order, with the language that it was said in and the text as it was
    written. A slice is a plain list."""

    def __init__(self, tokens: Iterable[Token], language: Language, text: str) -> None:
        super().__init__(tokens)
        self.language = language
        self.text = text

    def of(self, tokens: Iterable[Token]) -> Utterance:
        """Other tokens of the same text."""
        return Utterance(tokens, self.language, self.text)


def fold(word: str, language: Language) -> str:
    """Fold a word to what sounds the same for matching: case, accents, possessive, plural, number words."""
    word = word.casefold().replace("’", "'").translate(language.plain_letters)
    for ending in language.possessives:
        word = word.removesuffix(ending)
    for ending in language.contractions:
        subject = word.removesuffix(ending)
        if subject in language.numbers or language.contracted.match(subject):
            word = subject
    word = word.replace("'", "")
    if word in language.numbers and word not in language.unfolded:
        return str(language.numbers[word])
    if word in language.spellings:
        return language.spellings[word]
    return next((once for rule in language.plurals if (once := rule.of(word)) is not None), word)


def tokenize(text: str, language: Language) -> Utterance:
    """Words of `text` in order, folded."""
    found = list(language.word.finditer(text))
    charge(3 + 2 * len(found))
    ends = [*(m.start() for m in found[1:]), len(text)][: len(found)]
    return Utterance(
        (
            Token(fold(m.group(), language), m.start(), m.end(), _pause(text[m.end() : end]))
            for m, end in zip(found, ends, strict=True)
        ),
        language,
        text,
    )


def folded(text: str, language: Language) -> Folded:
    """The words of `text`, folded."""
    return tuple(token.folded for token in tokenize(text, language))


def _pause(between: str) -> str:
    """The first sign of a pause between two words; quotation marks and a hyphen are none."""
    return "" if between == "-" else between.strip(_QUOTES)[:1]


def fluent(tokens: Utterance, names: Collection[str]) -> Utterance:
    """The words without those of mere hesitation, unless the menu's `names` have them. Their commas go with
    them; a sentence's end stays one. A verb is told from a vessel ("can I get"), and "not too much" is one
    word. Tens and ones are one number. Two "nigiris" are the menu's nigiri, though most words in "is" are
    singular."""
    said = tokens.language
    tokens = tokens.of(_singular(token, names, said) for token in tokens)
    kept: list[Token] = []
    i = 0
    while i < len(tokens):
        words = tuple(token.folded for token in tokens[i : i + 4])
        if same := _same(words, said):
            kept.append(replace(tokens[i + len(same) - 1], folded=said.same_as[same], start=tokens[i].start))
            i += len(same)
            continue
        if number := _tens_and_ones(tokens, i):
            kept.append(replace(tokens[i + 2], folded=number, start=tokens[i].start))
            i += 3
            continue
        size = _hesitation(words, bool(tokens[i].after), kept, names, said)
        if not size:
            kept.append(tokens[i])
            i += 1
            continue
        i += size
        if kept:
            kept[-1] = replace(kept[-1], after=_pause_after(kept[-1], tokens[i - 1].after, said))
    return tokens.of(_verbs(kept, said))


def _pause_after(last: Token, pause: str, said: Language) -> str:
    """The pause after a word whose hesitation, which ended in a `pause`, is gone: "no, um, onions"."""
    after = last.after
    if after == "," and last.folded in said.leading_words:
        after = ""
    return after or (pause if pause in SENTENCE_ENDS else "")


def _verbs(tokens: list[Token], said: Language) -> Iterator[Token]:
    """The words, with those that are a verb before a person as that verb."""
    for i, token in enumerate(tokens):
        person = i + 1 < len(tokens) and tokens[i + 1].folded in said.persons
        yield (
            replace(token, folded=said.verbs[token.folded])
            if person and token.folded in said.verbs
            else token
        )


def _singular(token: Token, names: Collection[str], said: Language) -> Token:
    """A word, or the menu's whose plural it is; "as" is none of "a"."""
    word = token.folded
    if word in said.fillers or word in names:
        return token
    stems = (word.removesuffix(sign) for sign in said.plural_signs if word.endswith(sign))
    return next((replace(token, folded=stem) for stem in stems if stem in names), token)


def _same(words: Folded, said: Language) -> Folded:
    """The longest phrase that begins `words` and says the same as one word; empty where none does."""
    return max((p for p in said.same_as if words[: len(p)] == p), key=len, default=())


def _tens_and_ones(tokens: Utterance, at: int) -> str:
    """The number that is said as tens, a joint and ones, where a language joins them: "treinta y un"."""
    said, three = tokens.language, tokens[at : at + 3]
    if not said.between_tens or len(three) < 3 or three[0].after or three[1].after:
        return ""
    tens, joint, ones = (token.folded for token in three)
    value = 1 if ones in said.indefinite_articles else said.numbers.get(ones, ones)
    named = tens in _TENS and joint in said.between_tens and str(value) in _ONES
    return str(int(tens) + int(value)) if named else ""


def _hesitation(words: Folded, pause: bool, kept: list[Token], names: Collection[str], said: Language) -> int:
    """How many of `words` are mere hesitation, after those `kept`; `pause` tells of one after the first."""
    size = max((len(p) for p in said.hesitations if words[: len(p)] == p), default=0)
    if size and words[0] in said.liked:
        likened = not pause and words[1:2] and words[1] in said.likened
        if likened or not kept or kept[-1].folded in said.liking:
            return 0
    return 0 if all(word in names for word in words[:size]) else size


def sentences(tokens: list[Token]) -> Iterator[list[Token]]:
    """The words of each sentence that ends; what follows the last end is none."""
    start = 0
    for i, token in enumerate(tokens):
        if token.after in SENTENCE_ENDS:
            yield tokens[start : i + 1]
            start = i + 1


class Placed(Protocol):
    """Anything that stands at characters [start, end)."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def span(tokens: list[Token], mention: Placed) -> tuple[int, int]:
    """Positions [first, end) of what is named, among some of the tokens that were said."""
    charge(3)
    first = bisect_left(tokens, mention.start, key=lambda token: token.start)
    return first, bisect_right(tokens, mention.end, lo=first, key=lambda token: token.end)


def covered(tokens: list[Token], mentions: Iterable[Placed]) -> set[int]:
    """Token positions that what is named takes up."""
    return {i for mention in mentions for i in range(*span(tokens, mention))}
