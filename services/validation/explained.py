"""Explain an order: what retrieval finds in its words, and what the model and the checks made of them.

Shown by `saycart explain` and on the review page; it decides nothing.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from schemas.decision import Decision, ModelAnswer
from schemas.menu import Menu
from schemas.priced_cart import Cart, CartLine
from services.retrieval.names import Kind, names_of
from services.retrieval.retrieval import Match, retrieve

_FOUND_BY = {
    Match.WHOLE: "the whole name",
    Match.PARTIAL: "part of the name",
    Match.MISHEARD: "sounds like the name",
}


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True)


class ExplainedWords(_Value):
    """Words of the transcript: characters `start` up to, but not including, `end`.

    `meaning` is what they may mean, in words ("latte (item) or iced latte (item)"), and `found_by` how that
    was found; both are empty where nothing explains them.
    """

    words: str
    start: int
    end: int
    meaning: str = ""
    found_by: str = ""


class NamedPart(_Value):
    """Something on the menu: `id` is a sku, a size's id or an option's id, `group` the option's group."""

    kind: Kind
    id: str
    name: str
    group: str | None = None


class MentionedNames(ExplainedWords):
    """Words, and the names that they may mean."""

    match: Match
    names: tuple[NamedPart, ...]


class SpokenNumber(ExplainedWords):
    """Words that are a number."""

    value: int


class Explanation(_Value):
    """One transcript on one menu version; `answer` and `decision` are those of a stored order."""

    menu: str
    menu_version: int
    text: str
    mentions: tuple[MentionedNames, ...] = Field(description="in the order in which they were said")
    numbers: tuple[SpokenNumber, ...]
    unexplained: tuple[ExplainedWords, ...] = Field(
        description="words that are not on the menu, a number or a common word"
    )
    answer: ModelAnswer | None = None
    decision: Decision | None = None

    @property
    def parts(self) -> list[ExplainedWords]:
        """Every part of the text, in its order."""
        return sorted([*self.mentions, *self.numbers, *self.unexplained], key=lambda part: part.start)


def explain(
    text: str,
    menu: Menu,
    version: int,
    *,
    answer: ModelAnswer | None = None,
    decision: Decision | None = None,
) -> Explanation:
    """Look `text` up in the menu; `answer` and `decision` are added as they are."""

    def at(start: int, end: int) -> dict[str, Any]:
        return {"words": text[start:end], "start": start, "end": end}

    found = retrieve(text, names_of(menu))
    mentions = [
        MentionedNames(
            **at(one.start, one.end),
            meaning=" or ".join(dict.fromkeys(f"{name.text} ({name.kind})" for name in one.names)),
            found_by=_FOUND_BY[one.match],
            match=one.match,
            names=tuple(NamedPart(kind=n.kind, id=n.id, name=n.text, group=n.group) for n in one.names),
        )
        for one in found.mentions
    ]
    numbers = [
        SpokenNumber(**at(one.start, one.end), meaning=str(one.value), found_by="a number", value=one.value)
        for one in found.numbers
    ]
    return Explanation(
        menu=menu.id,
        menu_version=version,
        text=text,
        mentions=tuple(mentions),
        numbers=tuple(numbers),
        unexplained=tuple(ExplainedWords(**at(*span)) for span in found.unexplained),
        answer=answer,
        decision=decision,
    )


def unused_words(text: str, menu: Menu, cart: Cart) -> list[str]:
    """Return the words of `text` that nothing on the menu explains, or whose names the cart doesn't have, in
    their order; words of a note or of a line that is not on the menu are in the cart."""
    found = retrieve(text, names_of(menu))
    bought = {part for line in cart.lines for part in _parts(line)}
    spans = [(m.start, m.end) for m in found.mentions if bought.isdisjoint((n.kind, n.id) for n in m.names)]
    words = [text[start:end] for start, end in sorted([*spans, *found.unexplained])]
    kept = [line.heard.text for line in cart.lines if line.sku is None] + [note.text for note in cart.notes]
    return [word for word in words if not any(word in one for one in kept)]


def _parts(line: CartLine) -> set[tuple[str, str | None]]:
    return {("item", line.sku), ("size", line.size), *(("option", option.id) for option in line.options)}
