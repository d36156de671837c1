"""The decision: is a drafted cart accepted, is its customer asked, or does a person look?

One pure function, and the only place where a machine's cart is judged. Any doubt asks; nothing loosens the
grammar. A doubt is a blocking finding, from these sources:

| source | doubt |
|---|---|
| `allergy` | an allergy or a diet was said that no option tells, unless the shop accepts it as a note |
| `facts` | the menu does not allow it, does not have it, or leaves a choice open |
| `price` | the total is over the shop's limit |
| `whole_cart` | the language model is not sure enough of the cart, or nothing is in it |
| `unfamiliar` | words were said that hardly any order has |
| the transcript | its confidence is below the threshold, it is empty, or words were too quiet to be in it |

| doubts | verdict |
|---|---|
| none | accepted (shown to the customer first, where the order is to be confirmed) |
| all settled by questions, asked in turn (`open_questions`) | asks |
| any other | needs review |

How far the model's probability counts is its `Trust`, in a language in which that was measured. A lower one
is enough for a cart that the words say literally.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.cart import CartDraft
from schemas.compare import canonical, canonical_draft
from schemas.decision import (
    ACCEPT,
    ACCEPT_LITERAL,
    ASK,
    Basis,
    Decision,
    Doubt,
    ModelAnswer,
    Policy,
    SecondTranscript,
    Trust,
    Verdict,
)
from schemas.menu import Menu, MenuVersion
from schemas.open_questions import open_question
from schemas.priced_cart import Cart, Finding
from schemas.review import ReviewReason
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from services.retrieval.literal import literal_cart
from services.retrieval.names import names_of
from services.retrieval.retrieval import Match, Retrieval, retrieve
from services.retrieval.words import MEASURED
from services.validation.alignment import unused_words
from services.validation.allergy import check_allergy
from services.validation.facts import check_facts, check_total
from services.validation.price import price_cart
from services.validation.unfamiliar import MANY, unfamiliar, with_context
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
    findings = [*check_facts(draft, menu), *_quiet(transcript)]
    cart = price_cart(draft, menu, version.version, transcript, findings)
    findings += check_total(cart.total, policy.max_total, menu)
    retrieval = retrieve(transcript.text, names_of(menu))
    unused = unused_words(transcript.text, retrieval, cart)
    allergy = check_allergy(draft, menu, transcript, unused, accepted=policy.accepts.allergies)
    findings = [*allergy, *findings]  # first, for who reads only the beginning
    strange = unfamiliar(unused, names_of(menu))
    literal = _is_literal(draft, transcript, retrieval, menu)
    sure, likely = _believed(answer, menu, literal=literal)
    sure = sure and (len(strange) < MANY or not draft.lines)
    words = with_context(transcript.text, strange)
    judged = with_question(answer, draft, findings, menu, policy.max_total, words, sure=sure, likely=likely)
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
            cart_trust=answer.trust,
            literal=literal,
            second_transcript=_second(transcript),
            unused=unused,
        ),
    )
    return Decided(cart, judged, decision)


def _is_literal(draft: CartDraft, transcript: Transcript, retrieval: Retrieval, menu: Menu) -> bool:
    """Return True if typed words name every item in full and say the cart literally. Spoken ones prove less:
    model and words agree about what was misheard, too."""
    if transcript.confidence < 1:
        return False
    lines = literal_cart(transcript.text, retrieval, menu)
    named = {name.id for name in retrieval.names(Match.WHOLE) if name.kind == "item"}
    if not lines or not {line["sku"] for line in lines} <= named:
        return False
    return canonical(lines) == canonical_draft(draft)


def _believed(answer: ModelAnswer, menu: Menu, *, literal: bool) -> tuple[bool, bool]:
    """Return whether the model is sure enough of its cart to accept it, and to ask its customer about it."""
    if menu.language not in MEASURED or answer.trust in (Trust.OVERRULED, Trust.UNTRAINED):
        return False, False
    sure = answer.trust is Trust.TRUSTED and answer.probability >= (ACCEPT_LITERAL if literal else ACCEPT)
    return sure, answer.probability >= ASK


def _second(transcript: Transcript) -> SecondTranscript:
    if transcript.second is None:
        return SecondTranscript.UNUSED
    return SecondTranscript.AGREED if transcript.agreed else SecondTranscript.SHOWN


def _quiet(transcript: Transcript) -> list[Finding]:
    """Words that were too quiet to be transcribed with the order: the end of it by a voice that drops, or
    another person in the room. Only a person who listens can tell."""
    if not transcript.quiet:
        return []
    message = sentences(transcript.language)("heard_quietly", words=transcript.quiet)
    return [Finding.blocking("heard_quietly", message)]


def doubts(
    transcript: Transcript, findings: Iterable[Finding], *, asr_threshold: float
) -> tuple[ReviewReason, ...]:
    """Why a person should look; empty for no reason. `asr_threshold` is a calibrated confidence."""
    codes = {f.code for f in findings if f.blocks}
    reasons = [ReviewReason.ALLERGY_SAID] if "allergy_said" in codes else []
    if transcript.nothing_was_said:
        reasons.append(ReviewReason.NOTHING_HEARD)
    elif transcript.confidence < asr_threshold:
        reasons.append(ReviewReason.LOW_ASR_CONFIDENCE)
    if "not_on_menu" in codes:
        reasons.append(ReviewReason.NOT_ON_MENU)
    if codes - {"not_on_menu", "nothing_heard", "allergy_said"}:
        reasons.append(ReviewReason.BLOCKING_FINDING)
    return tuple(reasons)


def judge_chosen(
    draft: CartDraft, menu: MenuVersion, transcript: Transcript
) -> tuple[Cart, tuple[Finding, ...]]:
    """Price a cart that a person chose: it has to be true of the menu, whatever the transcript says."""
    findings = check_facts(draft, menu.menu)
    return price_cart(draft, menu.menu, menu.version, transcript, findings), tuple(findings)
