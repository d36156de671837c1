"""Explain an order: what retrieval finds in its words, and what the model and the checks made of them."""

from __future__ import annotations

from schemas.decision import Decision, ModelAnswer
from schemas.explanation import (
    MATCHES,
    ExplainedWords,
    Explanation,
    MentionedNames,
    NamedPart,
    SpokenNumber,
)
from schemas.menu import Menu
from services.retrieval.names import names_of
from services.retrieval.retrieval import Mention, retrieve


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
        mentions=tuple(_mentioned(text, one) for one in found.mentions),
        numbers=tuple(
            SpokenNumber(
                words=text[one.start : one.end],
                start=one.start,
                end=one.end,
                meaning=str(one.value),
                found_by="a number",
                value=one.value,
            )
            for one in found.numbers
        ),
        unexplained=tuple(
            ExplainedWords(words=text[start:end], start=start, end=end) for start, end in found.unexplained
        ),
        answer=answer,
        decision=decision,
    )


def _mentioned(text: str, one: Mention) -> MentionedNames:
    names = [NamedPart(kind=name.kind, id=name.id, name=name.text, group=name.group) for name in one.names]
    match = one.match.value
    return MentionedNames(
        words=text[one.start : one.end],
        start=one.start,
        end=one.end,
        meaning=" or ".join(dict.fromkeys(f"{name.name} ({name.kind})" for name in names)),
        found_by=MATCHES[match],
        match=match,
        names=tuple(names),
    )
