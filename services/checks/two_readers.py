"""Two readers of the same words, the rules and the learned one: what they come to together.

They err in different places, so a cart that both come to is right far more often than either's. Where the
rules leave an order open, or doubt it, the learned reader's cart stands if it is sure enough of it; what is
sure enough was measured on menus that it never saw (docs/training.md), and less is needed where the rules'
best guess is the same cart; in a language in which that was not measured it is never sure enough. Where both
are sure and differ, or neither is, the order keeps both carts: its customer is asked where that can settle it
(`two_carts.py`), and a human looks where not. A model that was not trained for orders is never sure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from schemas import wording
from schemas.cart import MAX_LINES, CartDraft, Finding
from schemas.compare import canonical_draft
from schemas.decision import Agreement, Readings, UnsurePiece
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


@dataclass(frozen=True, slots=True)
class Compared:
    """The cart that is proposed, and what the two readers made of the words."""

    draft: CartDraft
    readings: Readings

    @property
    def settled(self) -> bool:
        """Whether there is a cart, and the readers leave no doubt about it."""
        return bool(self.draft.lines) and self.readings.settled


def compare(
    reading: Reading, evidence: Evidence, *, sure_at: float = SURE, likely_at: float = LIKELY
) -> Compared:
    """Hold the learned reader's cart against what the rules make of the same words. They are compared by
    their lines; no rule reads notes, so either cart has those of the learned reader."""
    sure = _sure(reading)
    draft, other = with_heard(reading.lines, evidence, reading.notes), None
    undoubted = undoubted_cart(evidence) is not None
    guess = written(evidence) if undoubted else guessed(evidence)
    if guess is not None:
        guess = guess.model_copy(update={"notes": draft.notes})
    same = guess is not None and canonical_draft(guess) == canonical_draft(draft)
    if undoubted and guess is not None:
        agreement = Agreement.AGREED if same else Agreement.DIFFER
        if same:
            draft = guess
        else:
            draft, other = (draft, guess) if sure >= likely_at else (guess, draft)
    elif measured(evidence.menu.language) and (sure >= sure_at or (sure >= likely_at and same)):
        agreement = Agreement.CONFIDENT
    else:
        agreement, other = Agreement.UNSURE, guess if not same else None
    readings = Readings(
        agreement=agreement,
        answer=reading.text,
        probability=round(sure, 4),
        unsure=_unsure(reading),
        other=other,
    )
    return Compared(draft, readings)


def _sure(reading: Reading) -> float:
    """How sure the model is of the whole cart: 0 where it was not trained for it or the mask overruled it."""
    return math.exp(reading.logprob) if reading.trained and not reading.overruled else 0.0


def _unsure(reading: Reading) -> tuple[UnsurePiece, ...]:
    """The numbers and names of which the model was not sure."""
    return tuple(UnsurePiece(text=t, probability=round(p, 2)) for t, p in reading.pieces if p < DOUBTED)


def findings_of(
    readings: Readings, menu: Menu, question: Question | None = None, draft: CartDraft | None = None
) -> list[Finding]:
    """What a human is told of two readings that left a doubt, and the customer is asked; `draft` is the cart
    that is proposed: where it is not what was read otherwise is quoted."""
    detail = f"The language model is {wording.percent(readings.probability)} sure of its cart."
    if readings.unsure:
        unsure = (f"“{piece.text}” ({wording.percent(piece.probability)})" for piece in readings.unsure)
        detail += f" Least sure of: {', '.join(unsure)}."
    other = readings.other
    if other is not None:
        detail += f" It could also be: {wording.drafted(other, menu)}."
    if readings.agreement is Agreement.DIFFER:
        message = _asking("readers_differ", draft, other, menu)
        return [Finding.blocking("readers_differ", message, question=question, detail=detail)]
    if readings.agreement is Agreement.UNSURE:
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
