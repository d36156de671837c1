"""The decision: is a drafted cart accepted, is its customer asked, or does a person look?

One pure function, and the only place where a machine's cart is judged. Any doubt asks; nothing loosens the
grammar. A doubt is a blocking finding, from these sources, each with a module of its own:

| source | doubt |
|---|---|
| `allergy` | an allergy or a diet was said that no option tells |
| `facts` | the menu does not allow it, does not have it, or leaves a choice open |
| `quiet` | words were too quiet to be in the transcript |
| `price` | the total is over the shop's limit |
| `whole_cart` | the language model is not sure enough of the cart, or nothing is in it |
| `triage` | the recording as a whole is below the threshold, or nothing was heard |

| doubts | verdict |
|---|---|
| none | accepted (shown to the customer first, where the order is to be confirmed) |
| all settled by questions, asked in turn (`open_questions`) | asks |
| any other | needs review |
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.cart import Cart, CartDraft, Finding
from schemas.decision import Basis, Decision, Doubt, ModelAnswer, Policy, SecondTranscript, Verdict
from schemas.open_questions import open_question
from schemas.records.menus import MenuVersion
from schemas.transcript import Transcript
from services.validation.allergy import check_allergy
from services.validation.facts import check_facts, check_total
from services.validation.price import price_cart
from services.validation.quiet import check_quiet
from services.validation.triage import doubts
from services.validation.whole_cart import with_question


@dataclass(frozen=True, slots=True)
class Decided:
    """The priced cart, all findings about it, and the decision that they lead to."""

    cart: Cart
    findings: tuple[Finding, ...]
    decision: Decision


def decide(
    draft: CartDraft,
    transcript: Transcript,
    version: MenuVersion,
    answer: ModelAnswer,
    policy: Policy,
) -> Decided:
    """Judge the language model's `draft` of `transcript`."""
    menu = version.menu
    findings = check_allergy(draft, menu, transcript)  # first, for whoever reads only the beginning
    findings += [*check_facts(draft, menu), *check_quiet(transcript)]
    cart = price_cart(draft, menu, version.version, transcript, findings)
    findings += check_total(cart.total, policy.max_total, menu)
    judged = with_question(answer, draft, findings, menu, policy)
    reasons = doubts(transcript, judged, asr_threshold=policy.asr_threshold)
    question = open_question(judged, reasons)
    verdict = Verdict.NEEDS_REVIEW if question is None else Verdict.ASKS
    decision = Decision(
        verdict=verdict if reasons else Verdict.ACCEPTED,
        question=question if reasons else None,
        reasons=reasons,
        doubts=tuple(Doubt(code=f.code, message=f.message) for f in judged if f.blocks),
        basis=Basis(
            transcript_confidence=transcript.confidence,
            cart_probability=answer.probability,
            second_transcript=_second(transcript),
        ),
    )
    return Decided(cart, judged, decision)


def _second(transcript: Transcript) -> SecondTranscript:
    if transcript.second is None:
        return SecondTranscript.UNUSED
    return SecondTranscript.AGREED if transcript.agreed else SecondTranscript.SHOWN
