"""The decision: is a drafted cart accepted, is its customer asked, or does a person look?

One pure function, and the only place where a machine's cart is judged. Any doubt asks; nothing loosens the
grammar. A doubt is a blocking finding, from these sources, each with a module of its own:

| source | doubt | not a doubt where |
|---|---|---|
| `allergy` | an allergy or a diet was said that no option tells | |
| `facts` | the menu does not allow it, or leaves a choice open | |
| `evidence` | words are unused, unclear or left open | the model is confident of its reading |
| `evidence` | words too quiet, or only heard once the menu's were listened for | a second recognizer agrees |
| `confidence` | a field was not heard surely enough | only the words are in doubt, not the hearing |
| `price` | the total is over the shop's limit | |
| `two_readers` | rules and model differ, or the model is unsure | |
| `triage` | the recording as a whole is below the threshold, or nothing was heard | |

| doubts | verdict |
|---|---|
| none | accepted (shown to the customer first, where the order is to be confirmed) |
| one that a question settles, or several that one question settles (`questions.open_question`) | asks |
| any other | needs review |
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.cart import Cart, CartDraft, Finding
from schemas.decision import (
    Agreement,
    Basis,
    Decision,
    Doubt,
    Policy,
    Readings,
    SecondTranscript,
    Verdict,
)
from schemas.evidence import Evidence
from schemas.transcript import Transcript
from services.checks.allergy import check_allergy
from services.checks.confidence import field_confidences
from services.checks.evidence import check_fields, check_hearing, check_quiet
from services.checks.facts import check_facts, check_total
from services.checks.judge import doubts_of
from services.checks.one_cart import surely_heard
from services.checks.price import price_cart
from services.checks.questions import open_question
from services.checks.triage import doubts
from services.checks.two_carts import question_about, with_question


@dataclass(frozen=True, slots=True)
class Decided:
    """The priced cart, all findings about it, and the decision that they lead to."""

    cart: Cart
    findings: tuple[Finding, ...]
    decision: Decision


def decide(
    draft: CartDraft,
    transcript: Transcript,
    evidence: Evidence,
    readings: Readings | None,
    policy: Policy,
) -> Decided:
    """Judge a machine's draft of `transcript` on the menu of its `evidence`.

    `readings` is what rules and model made of the words, None where only one was to read them.
    """
    menu = evidence.menu
    words_only = readings is not None and _only_words_in_doubt(readings, evidence, transcript, policy)
    confirmed = readings is not None and readings.second_transcript is SecondTranscript.SAME_CART
    fields = field_confidences(draft, evidence, transcript, borne_out=confirmed)
    confident = readings is not None and readings.agreement is Agreement.CONFIDENT
    findings = check_allergy(draft, menu, transcript)  # first, for whoever reads only the beginning
    findings += check_facts(draft, menu) if confident else doubts_of(draft, menu, evidence)
    findings += [*check_quiet(transcript), *check_hearing(transcript, policy.asr_threshold, words_only)]
    if not words_only:
        findings += check_fields(fields, policy.field_threshold, draft, menu)
    cart = price_cart(draft, menu, evidence.menu_version, transcript, findings, fields)
    findings += check_total(cart.total, policy.max_total, menu)
    found = _with_question(draft, findings, readings, evidence, policy)
    least = min((sure for line in fields for sure in line.values()), default=None)
    return Decided(cart, found, _decision(transcript, found, readings, policy, least))


def _only_words_in_doubt(
    readings: Readings, evidence: Evidence, transcript: Transcript, policy: Policy
) -> bool:
    """Whether what two readings left in doubt is what the words mean, and not what was heard."""
    if readings.second_transcript is SecondTranscript.SAME_QUESTION:
        return True
    differ = readings.agreement is Agreement.DIFFER
    return differ and surely_heard(evidence, transcript, policy.field_threshold)


def _with_question(
    draft: CartDraft,
    findings: list[Finding],
    readings: Readings | None,
    evidence: Evidence,
    policy: Policy,
) -> tuple[Finding, ...]:
    """The findings with what two readings left in doubt, and the question that would settle it."""
    if readings is None:
        return tuple(findings)
    menu = evidence.menu
    question = question_about(
        readings, draft, findings, menu, most=policy.max_total_asked, ask_at=policy.ask_from
    )
    return with_question(readings, draft, findings, menu, question)


def _decision(
    transcript: Transcript,
    findings: tuple[Finding, ...],
    readings: Readings | None,
    policy: Policy,
    least_field: float | None,
) -> Decision:
    reasons = doubts(transcript, findings, asr_threshold=policy.asr_threshold)
    question = open_question(findings, reasons)
    verdict = Verdict.NEEDS_REVIEW if question is None else Verdict.ASKS
    return Decision(
        verdict=verdict if reasons else Verdict.ACCEPTED,
        question=question if reasons else None,
        reasons=reasons,
        doubts=tuple(Doubt(code=f.code, message=f.message) for f in findings if f.blocks),
        basis=Basis(
            transcript_confidence=transcript.confidence,
            cart_probability=readings.probability if readings is not None and readings.answer else None,
            least_field_confidence=least_field,
            agreement=readings.agreement if readings is not None else None,
            second_transcript=readings.second_transcript if readings else SecondTranscript.UNUSED,
        ),
    )
