"""Why an order was read as it was: what was found in its words, what was chosen over what, and what follows.

Made by `services/reading/explained.py` (words and spans) and `services/checks/explained.py` (what the
mask opens, and where the order goes), shown by `saycart explain` and by the "Why?" panel at review. Nothing
reads it to decide anything.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from schemas.cart import Amount, Finding
from schemas.decision import Decision
from schemas.review import ReviewReason

Rule = Literal[
    "whole_name",
    "name_in_pieces",
    "short_name",
    "sounds_alike",
    "kind_of",
    "part_of_name",
    "guess",
    "called_by_choice",
    "implied",
    "number",
    "sounds_like_number",
    "so_many_pieces",
]
"""What found a span; `RULES` says each in words."""

Loss = Literal[
    "longer",
    "nearer",
    "outscored",
    "said_otherwise",
    "parts_fit_better",
    "makes_no_sense",
    "spelled",
    "not_offered",
    "other_sense",
    "counts_pieces",
    "taken_back",
]
"""Why a span was not chosen; `LOSSES` says each in words."""

Outcome = Literal["settled", "open", "nothing"]
"""What the reading of the words comes to: one cart, without a doubt; something is open; nothing on the menu
was named."""

RULES: dict[Rule, str] = {
    "whole_name": "the whole name",
    "name_in_pieces": "the whole name, with other words between",
    "short_name": "a short form of the name",
    "sounds_alike": "almost the name, by spelling or sound",
    "kind_of": "a kind of what was named before",
    "part_of_name": "a part of the name",
    "guess": "a guess at words that make no sense",
    "called_by_choice": "called by a choice of it",
    "implied": "not named, but a size or choice of it was",
    "number": "a number",
    "sounds_like_number": "sounds like a number",
    "so_many_pieces": "a number that is a size or choice here",
}

LOSSES: dict[Loss, str] = {
    "longer": "these words are inside a longer name",
    "nearer": "the same words are nearer to another name",
    "outscored": "another name overlaps it and fits better",
    "said_otherwise": "the names in these words were said whole",
    "parts_fit_better": "what is left of the words fits another name better",
    "makes_no_sense": "words would be left that make no sense",
    "spelled": "another is written just so",
    "not_offered": "nothing that was named comes with it",
    "other_sense": "here the words mean something else",
    "counts_pieces": "the number is a size or choice here",
    "taken_back": "it was taken back, corrected or said again",
}

OUTCOMES: dict[Outcome, str] = {
    "settled": "The words come to one cart, and leave nothing open.",
    "open": "The words leave something open.",
    "nothing": "Nothing on the menu was named.",
}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class ExplainedToken(_Part):
    """One word, without hesitations: as written, and `folded` as it is compared (case, plural, numbers).
    `unexplained` words are those that nothing accounts for, `struck` ones are taken out where something is
    corrected."""

    text: str
    folded: str
    start: int
    end: int
    unexplained: bool = False
    struck: bool = False


class Ref(_Part):
    """Something of the menu, or a number: `id`, an option's `group`, and the menu's `name`."""

    id: str
    name: str
    group: str = ""


class Ground(_Part):
    """A span that another one rests on: its kind, positions, words, and what they may mean."""

    kind: Literal["item", "size", "option", "number"]
    tokens: tuple[int, ...]
    text: str
    refs: tuple[Ref, ...]


class ExplainedSpan(_Part):
    """Words that may mean something: `tokens` are their positions, several `refs` fit them alike, `score` (0
    to 1) says how well, `rule` is what made it and `on` the spans that it rests on. One that was not chosen
    tells `why`, and what it `lost_to` where that is known."""

    kind: Literal["item", "size", "option", "number"]
    tokens: tuple[int, ...]
    text: str
    refs: tuple[Ref, ...]
    score: float
    rule: Rule
    on: tuple[Ground, ...] = ()
    chosen: bool = True
    why: Loss | None = None
    lost_to: Ref | None = None

    @property
    def because(self) -> str:
        """The rule in words, with those of the spans that it rests on."""
        on = " and ".join(f"“{ground.text}”" for ground in self.on)
        return f"{RULES[self.rule]}, resting on {on}" if on else RULES[self.rule]


class ReadingExplained(_Part):
    """What the reading did with the words, before anything was checked."""

    text: str
    tokens: tuple[ExplainedToken, ...]
    spans: tuple[ExplainedSpan, ...]

    @property
    def chosen(self) -> list[ExplainedSpan]:
        return [span for span in self.spans if span.chosen]

    def rivals(self, span: ExplainedSpan) -> list[ExplainedSpan]:
        """What else words of `span` might have meant, and was not chosen."""
        own, refs = set(span.tokens), set(span.refs)
        beside = (other for other in self.spans if not other.chosen and own & set(other.tokens))
        return [other for other in beside if not refs >= set(other.refs)]

    @property
    def lost(self) -> list[tuple[int, str]]:
        """Runs of words that nothing accounts for, not even a guess, each with its first position."""
        taken = {i for span in self.chosen for i in span.tokens}
        odd = [i for i, token in enumerate(self.tokens) if token.unexplained and i not in taken]
        first = [i for i in odd if i - 1 not in odd]
        last = [i for i in odd if i + 1 not in odd]
        places = ((i, self.tokens[i].start, self.tokens[j].end) for i, j in zip(first, last, strict=True))
        return [(i, self.text[start:end]) for i, start, end in places]

    @property
    def forgone(self) -> list[ExplainedSpan]:
        """What was not chosen for words that nothing else was chosen for, without the parts of it."""
        taken = {i for span in self.chosen for i in span.tokens}
        lone = [span for span in self.spans if not span.chosen and not taken & set(span.tokens)]
        return [span for span in lone if not any(set(span.tokens) < set(other.tokens) for other in lone)]


class OptionOpen(_Part):
    """One option that a line may have; a `required` one has to be there."""

    ref: Ref
    amounts: tuple[Amount, ...]
    counts: tuple[int, ...]
    required: bool


class LineOpen(_Part):
    """What the mask opens at one place of the words. A line that is `settled` leaves nothing to choose; else
    `open` says what is left, in words."""

    anchor: str
    words: str
    items: tuple[Ref, ...]
    quantities: tuple[int, ...]
    sizes: tuple[Ref, ...]
    size_required: bool
    options: tuple[OptionOpen, ...]
    copies: int
    required: bool
    settled: bool
    open: tuple[str, ...]


class Destination(_Part):
    """Where the order would go. `settled` orders need no model. `cart` is the one cart, priced, or the one
    that is proposed; empty where the model has to choose first. `question` is asked of the customer."""

    to: Literal["completed", "review"]
    settled: bool
    cart: tuple[str, ...] = ()
    total: int = 0
    total_is_minimum: bool = False
    reasons: tuple[ReviewReason, ...] = ()
    findings: tuple[Finding, ...] = ()
    question: str | None = None
    decision: Decision | None = None


class Explanation(_Part):
    """The whole way of one transcript over one menu version."""

    menu: str
    menu_version: int
    currency: str
    reading: ReadingExplained
    outcome: Outcome
    lines: tuple[LineOpen, ...]
    off_menu: tuple[str, ...]
    destination: Destination
