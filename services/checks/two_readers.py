"""Two readers of the same words, the rules and the learned one: what they come to together.

They err in different places, so a cart that both come to is right far more often than either's. Where the
rules leave an order open, or doubt it, the learned reader's cart stands if it is sure enough of it; what is
sure enough was measured on menus that it never saw (docs/training.md), and less is needed where the rules'
best guess is the same cart. In a language in which that was not measured it is never sure enough. Where both
are sure and differ, a human looks.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from schemas.cart import CartDraft, Finding
from schemas.compare import LineKey, canonical, canonical_draft
from schemas.evidence import Evidence
from services.checks.heard_words import with_heard
from services.checks.one_cart import line_left, undoubted_cart, written
from services.engines.ports import Reading
from services.reading.language.language import measured

SURE, LIKELY = math.exp(-0.03), math.exp(-0.3)
"""Probability of a whole cart from which the learned reader alone is believed, and from which it is where the
rules' best guess agrees: chosen on the tuned menus for at most 1% wrong carts that nobody sees."""


class Verdict(StrEnum):
    """What the two readers come to."""

    AGREED = "agreed"  # both one cart, and no rule doubts it
    VOUCHED = "vouched"  # the rules leave it open, and the learned reader is sure enough
    UNSURE = "unsure"  # the rules leave it open, and the learned reader is not
    DIFFER = "differ"  # the rules have no doubt, and the learned reader comes to another cart


@dataclass(frozen=True, slots=True)
class Agreement:
    """The cart that is proposed, what the readers come to, and what an order keeps of it."""

    draft: CartDraft
    verdict: Verdict
    told: dict[str, Any]


def compare(reading: Reading, evidence: Evidence) -> Agreement:
    """Hold the learned reader's cart against what the rules make of the same words."""
    sure = math.exp(reading.logprob) if not reading.overruled else 0.0
    read = canonical(list(reading.lines))
    ours = written(evidence) if undoubted_cart(evidence) is not None else None
    draft = with_heard(reading.lines, evidence)
    if ours is not None:
        if canonical_draft(ours) == read:
            verdict, draft = Verdict.AGREED, ours
        else:
            verdict, draft = Verdict.DIFFER, draft if sure >= LIKELY else ours
    elif measured(evidence.menu.language) and (sure >= SURE or (sure >= LIKELY and _guessed(evidence, read))):
        verdict = Verdict.VOUCHED
    else:
        verdict = Verdict.UNSURE
    told = {"text": reading.text, "probability": round(sure, 4), "verdict": verdict.value}
    return Agreement(draft, verdict, told)


def findings_of(told: dict[str, Any]) -> list[Finding]:
    """What a human is told of two readings that left a doubt; `told` is what the order kept."""
    detail = f"the learned reader: {told['text']} (probability {told['probability']:.2f})"
    if told["verdict"] == Verdict.DIFFER:
        sentence = "Is this the order as you meant it? It can be read in two ways."
        return [Finding.blocking("readers_differ", sentence, detail=detail)]
    if told["verdict"] == Verdict.UNSURE:
        sentence = "Is this the order as you meant it? We are not sure that we understood all of it."
        return [Finding.blocking("reading_unsure", sentence, detail=detail)]
    return []


def _guessed(evidence: Evidence, read: Counter[LineKey]) -> bool:
    """Whether `read` is what the rules would propose, doubts or not; nothing where a line is open."""
    if not evidence.lines or not all(line.settled(evidence.menu) for line in evidence.lines):
        return False
    lines = [line_left(line, evidence.menu) for line in evidence.lines]
    off = [{"kind": "not_on_menu", "quantity": o.quantities[0]} for o in evidence.off_menu if o.required]
    return canonical([*lines, *off]) == read
