"""Judge: is a cart true of the menu, was it heard, and what does it cost? The one place where a draft of a
machine, a reviewer or a customer becomes a priced cart with findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.cart import Cart, CartDraft, Finding
from schemas.evidence import Evidence
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.checks.confidence import field_confidences
from services.checks.evidence import check_evidence, check_fields, check_hearing, check_quiet
from services.checks.facts import check_facts, check_total
from services.checks.price import price_cart
from services.storage.base.records import MenuVersion


@dataclass(frozen=True, slots=True)
class Judged:
    """A cart priced from its menu version, and all that a reader of it should know."""

    cart: Cart
    findings: tuple[Finding, ...]


def judge_chosen(
    draft: CartDraft, menu: MenuVersion, transcript: Transcript, left: Sequence[Finding] = ()
) -> Judged:
    """A cart that a person chose: it has to be true of the menu, whatever was heard. `left` are findings of
    an earlier draft that still hold."""
    findings = [*check_facts(draft, menu.menu), *left]
    cart = price_cart(draft, menu.menu, menu.version, transcript, findings)
    return Judged(cart, tuple(findings))


def judge_drafted(
    draft: CartDraft,
    menu: MenuVersion,
    transcript: Transcript,
    evidence: Evidence,
    *,
    asr_threshold: float,
    field_threshold: float,
    max_total: int,
    vouched: bool = False,
    borne_out: bool = False,
    words_alone: bool = False,
) -> Judged:
    """A cart that a machine made of `transcript`: true of the menu, heard, and surely enough.

    Both thresholds are calibrated confidences (0..1), `max_total` in minor units. Where the learned reader
    `vouched` for it, what the rules could not make out of the words is no doubt; where it is `borne_out` by
    what a second recogniser heard, no field is less sure than such orders were measured to be; where the
    `words_alone` are in doubt, what they mean and not what was heard, an unsure field is no doubt, nor is a
    second hearing.
    """
    fields = field_confidences(draft, evidence, transcript, borne_out=borne_out)
    said = check_facts(draft, menu.menu) if vouched else doubts_of(draft, menu.menu, evidence)
    findings = [*said, *check_quiet(transcript), *check_hearing(transcript, asr_threshold, words_alone)]
    if not words_alone:
        findings += check_fields(fields, field_threshold, draft, menu.menu)
    cart = price_cart(draft, menu.menu, menu.version, transcript, findings, fields)
    findings += check_total(cart.total, max_total, menu.menu)
    return Judged(cart, tuple(findings))


def doubts_of(draft: CartDraft, menu: Menu, evidence: Evidence) -> list[Finding]:
    """What is not true of the menu, and what was not said or is left open by the words."""
    return [*check_facts(draft, menu), *check_evidence(draft, evidence)]
