"""Two readers of the same words, the rules and the learned one: what they come to together.

They err in different places, so a cart that both come to is right far more often than either's. Where the
rules leave an order open, or doubt it, the learned reader's cart stands if it is sure enough of it; what is
sure enough was measured on menus that it never saw (docs/training.md), and less is needed where the rules'
best guess is the same cart; in a language in which that was not measured it is never sure enough. Where both
are sure and differ, or neither is, the order keeps both carts: its customer is asked where that can settle it
(`two_carts.py`), and a human looks where not. A cart that only one of them read is its customer's likewise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from schemas import wording
from schemas.cart import MAX_LINES, CartDraft, Finding
from schemas.compare import canonical_draft
from schemas.evidence import Evidence
from schemas.menu import Menu
from schemas.question import Question
from schemas.sentences.sentences import sentences
from services.checks.heard_words import with_heard
from services.checks.naming import listed
from services.checks.one_cart import line_left, undoubted_cart, written
from services.engines.ports import Reading
from services.reading.language.language import measured

SURE, LIKELY = math.exp(-0.01), math.exp(-0.2)
"""Probability of a whole cart from which the learned reader alone is believed, and from which it is where the
rules' best guess agrees: chosen on the tuned menus, with `two_carts.ASK`, for at most 1% wrong carts that
nobody sees."""

DOUBTED = 0.9
"""Probability of one number or name of the learned reader's cart under which a human is told of it."""

MOST_QUOTED = 2
"""Lines that a sentence about two readings names; more are told as the whole order."""
_OF_LINES = {"readers_differ": "readers_differ_in", "reading_unsure": "reading_unsure_in"}


class Verdict(StrEnum):
    """What the two readers come to."""

    AGREED = "agreed"  # both one cart, and no rule doubts it
    VOUCHED = "vouched"  # the rules leave it open, and the learned reader is sure enough
    UNSURE = "unsure"  # the rules leave it open, and the learned reader is not
    DIFFER = "differ"  # the rules have no doubt, and the learned reader comes to another cart
    ALONE = "alone"  # two were to read it, and the learned reader did not


READ_ONCE: dict[str, Any] = {"text": "", "probability": 0.0, "verdict": Verdict.ALONE.value}
"""What an order keeps of its readers where the learned one did not read it and was to."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The cart that is proposed, what the readers come to, and what an order keeps of it."""

    draft: CartDraft
    verdict: Verdict
    told: dict[str, Any]

    @property
    def settled(self) -> bool:
        """Whether there is a cart, and the readers leave no doubt about it."""
        return bool(self.draft.lines) and self.verdict in (Verdict.AGREED, Verdict.VOUCHED)


def compare(
    reading: Reading, evidence: Evidence, *, sure_at: float = SURE, likely_at: float = LIKELY
) -> Agreement:
    """Hold the learned reader's cart against what the rules make of the same words."""
    sure = math.exp(reading.logprob) if not reading.overruled else 0.0
    draft, other = with_heard(reading.lines, evidence), None
    ours = written(evidence) if undoubted_cart(evidence) is not None else None
    guess = ours or guessed(evidence)
    same = guess is not None and canonical_draft(guess) == canonical_draft(draft)
    if ours is not None:
        verdict = Verdict.AGREED if same else Verdict.DIFFER
        if same:
            draft = ours
        else:
            draft, other = (draft, ours) if sure >= likely_at else (ours, draft)
    elif measured(evidence.menu.language) and (sure >= sure_at or (sure >= likely_at and same)):
        verdict = Verdict.VOUCHED
    else:
        verdict, other = Verdict.UNSURE, guess if not same else None
    told: dict[str, Any] = {"text": reading.text, "probability": round(sure, 4), "verdict": verdict.value}
    told |= _unsure_of(reading)
    if other is not None:
        told["other"] = other.model_dump(mode="json")
    return Agreement(draft, verdict, told)


def _unsure_of(reading: Reading) -> dict[str, Any]:
    """What an order keeps of the numbers and names of which the learned reader was not sure, if any."""
    unsure = [{"said": piece, "probability": round(p, 2)} for piece, p in reading.pieces if p < DOUBTED]
    return {"unsure_of": unsure} if unsure else {}


def findings_of(
    told: dict[str, Any], menu: Menu, question: Question | None = None, draft: CartDraft | None = None
) -> list[Finding]:
    """What a human is told of two readings that left a doubt, and the customer is asked; `told` is what the
    order kept, and `draft` the cart that is proposed: where it is not what was read otherwise is quoted."""
    if told["verdict"] == Verdict.ALONE:
        detail = "Only the rules read this order: the trained reader was not available."
        message = sentences(menu.language)("read_once")
        return [Finding.blocking("read_once", message, question=question, detail=detail)]
    detail = f"The trained reader is {wording.percent(told['probability'])} sure of its cart."
    if told.get("unsure_of"):
        unsure = (
            f"“{piece['said']}” ({wording.percent(piece['probability'])})" for piece in told["unsure_of"]
        )
        detail += f" Least sure of: {', '.join(unsure)}."
    other = CartDraft.model_validate(told["other"]) if told.get("other") else None
    if other is not None:
        detail += f" It could also be: {wording.drafted(other, menu)}."
    if told["verdict"] == Verdict.DIFFER:
        message = _asking("readers_differ", draft, other, menu)
        return [Finding.blocking("readers_differ", message, question=question, detail=detail)]
    if told["verdict"] == Verdict.UNSURE:
        message = _asking("reading_unsure", draft, other, menu)
        return [Finding.blocking("reading_unsure", message, question=question, detail=detail)]
    if question is not None:
        return [Finding.blocking("nothing_ordered", question.text, question=question, detail=detail)]
    return []


def _asking(code: str, draft: CartDraft | None, other: CartDraft | None, menu: Menu) -> str:
    """Whether it is as meant: said of the one or two lines that only this cart has, or else of one that only
    the other has; of the whole order where there is one cart alone, or more of it differs."""
    say = sentences(menu.language)
    if draft is None or other is None:
        return say(code)
    ours, theirs = canonical_draft(draft), canonical_draft(other)
    differ = [wording.drafted_line(key, ours[key], menu, menu.language) for key in ours - theirs]
    if 0 < len(differ) <= MOST_QUOTED:
        return say(_OF_LINES[code], what=listed(differ, language=menu.language))
    missed = [wording.drafted_line(key, theirs[key], menu, menu.language) for key in theirs - ours]
    return say("line_too", line=missed[0]) if missed and not differ else say(code)


def guessed(evidence: Evidence) -> CartDraft | None:
    """What the rules would propose, doubts or not; nothing where a line is open, or there are too many."""
    if not evidence.lines or not all(line.settled(evidence.menu) for line in evidence.lines):
        return None
    lines = [line_left(line, evidence.menu) for line in evidence.lines]
    return with_heard(lines, evidence) if len(lines) <= MAX_LINES else None
