"""Explain an order: what retrieval finds in its words, and what the model and the checks made of them."""

from __future__ import annotations

from schemas.decision import Decision, ModelAnswer
from schemas.explanation import Explanation, MentionedNames, MenuName, SpokenNumber, UnexplainedWord
from schemas.menu import Menu
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve


def explain(
    text: str,
    menu: Menu,
    version: int,
    *,
    answer: ModelAnswer | None = None,
    decision: Decision | None = None,
) -> Explanation:
    """Look `text` up in the menu; `answer` and `decision` are added as they are."""
    found = retrieve(text, names_of(menu))
    return Explanation(
        menu=menu.id,
        menu_version=version,
        text=text,
        mentions=tuple(
            MentionedNames(
                words=text[one.start : one.end],
                start=one.start,
                end=one.end,
                match=one.match.value,
                names=tuple(
                    MenuName(kind=name.kind, id=name.id, name=name.text, group=name.group)
                    for name in one.names
                ),
            )
            for one in found.mentions
        ),
        numbers=tuple(
            SpokenNumber(words=text[one.start : one.end], start=one.start, end=one.end, value=one.value)
            for one in found.numbers
        ),
        unexplained=tuple(
            UnexplainedWord(words=text[start:end], start=start, end=end) for start, end in found.unexplained
        ),
        answer=answer,
        decision=decision,
    )
