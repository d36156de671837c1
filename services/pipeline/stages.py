"""The steps of the stages: order in, outcome out, without storage or queue.

Errors pass through; the runner knows what each kind means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from schemas.decision import ModelAnswer, Trust, UnsurePiece, Verdict
from schemas.errors import AudioRefused
from schemas.lifecycle import Event, StageName
from schemas.order import DecodedBy
from schemas.priced_cart import Finding
from schemas.records.orders import OrderRecord, Outcome, StoredUtterance
from schemas.review import ReviewReason
from schemas.sentences.sentences import sentences
from schemas.shops.settings import Acceptance
from schemas.transcript import Transcript, joined
from schemas.writable import clean
from services.decoding.ports import CartRequest, DecodedCart
from services.pipeline.ask_customer import ask_again
from services.pipeline.ports import Tools
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.transcription.audio.containers import AudioContainer
from services.transcription.ports import Recording
from services.transcription.second import with_second
from services.transcription.transcribe import transcribe_recording
from services.validation.alignment import aligned
from services.validation.decide import decide, doubts
from services.validation.inner_sizes import without_inner_sizes
from services.validation.notes import with_left_out
from services.validation.portions import has_nested, placed
from services.validation.questions import with_kept_answers
from services.validation.whole_cart import with_kept_items

DOUBTED = 0.9
"""A number or name of the model's cart with a lower probability is shown to the reviewer."""


def transcribe(order: OrderRecord, tools: Tools) -> Outcome:
    """Transcribe the recordings that are not yet. Silence in all of them goes to a human, undecoded."""
    utterances = _all_transcribed(order, tools)
    transcript = joined([one.transcript for one in utterances if one.transcript is not None])
    if not transcript.nothing_was_said:
        return Outcome(Event.TRANSCRIBED, transcript=transcript, utterances=utterances)
    finding = Finding.blocking("nothing_heard", sentences(order.language)("nothing_said"))
    if again := ask_again(order, None, (finding,), tools, StageName.TRANSCRIBE):
        return replace(again, utterances=utterances)
    return Outcome(
        Event.DOUBTED,
        transcript=transcript,
        utterances=utterances,
        findings=(finding,),
        reasons=doubts(transcript, [finding], asr_threshold=tools.policy.asr_threshold),
    )


def _all_transcribed(order: OrderRecord, tools: Tools) -> tuple[StoredUtterance, ...]:
    utterances: list[StoredUtterance] = []
    with ExitStack() as on_error:
        for utterance in order.all_utterances:
            transcribed = _transcribed(utterance, order, tools)
            utterances.append(transcribed)
            if transcribed.audio_key not in (None, utterance.audio_key):  # a copy that no order refers to yet
                on_error.callback(tools.drop_recording, transcribed.audio_key)
        on_error.pop_all()
    return tuple(utterances)


def _transcribed(utterance: StoredUtterance, order: OrderRecord, tools: Tools) -> StoredUtterance:
    """Return the utterance with its transcript, and its recording's smaller copy. One of several that is
    unplayable is as one in which nothing was said, so that the others are not lost with it."""
    if utterance.transcript is not None:
        return utterance
    if utterance.audio_key is None:
        raise ValueError("An utterance without a transcript must have a recording")
    try:
        with tools.recording(utterance.audio_key) as file:
            recording = Recording(file, tools.decode_audio, tools.called_off)
            transcript = _transcript(recording, order, tools)
            found: dict[str, Any] = {"transcript": transcript}
            if flac := tools.compact(recording):
                found |= {"audio_key": flac, "audio_format": AudioContainer.FLAC.value}
    except AudioRefused:
        if not order.utterances:
            raise
        silent = Transcript(text="", confidence=0.0, language=order.language)
        found = {"transcript": silent, "audio_key": None}
    return utterance.model_copy(update=found)


def _transcript(recording: Recording, order: OrderRecord, tools: Tools) -> Transcript:
    names = names_of(tools.menu(order.shop, order.menu_id, order.menu_version).menu)
    first = transcribe_recording(
        recording, order.language, names, tools.transcriber(), floor=tools.policy.asr_threshold
    )
    return with_second(recording, first, names, tools.second_transcriber, tools.agreement)


def decode(order: OrderRecord, tools: Tools) -> Outcome:
    """Have the language model write the cart from the transcripts of one or two recognizers."""
    transcript = transcript_of(order)
    menu = tools.menu(order.shop, order.menu_id, order.menu_version).menu
    second = "" if transcript.agreed else transcript.second or ""
    request = CartRequest(clean(transcript.text), menu, clean(second), tools.chunked_prefill)
    reading = tools.decoder().decode(request, tools.called_off)
    names = names_of(menu)
    retrieval = retrieve(request.transcript, names)
    lines = without_inner_sizes(reading.lines, request.transcript, names, retrieval)
    draft = placed(aligned(lines, request.transcript, retrieval, reading.notes), menu)
    draft = with_left_out(draft, menu, request.transcript, retrieval)
    trust = trust_in(
        reading,
        corrected=lines != list(reading.lines),
        unseen=retrieval.by_number or has_nested(draft, menu),
    )
    return Outcome(
        Event.DECODED,
        draft=draft,
        answer=model_answer(reading, trust),
        engine=DecodedBy(
            decoder=reading.engine,
            grammar=reading.grammar,
            prompt_tokens=reading.prompt_tokens,
            completion_tokens=reading.completion_tokens,
            cached_tokens=reading.cached_tokens,
        ),
    )


def trust_in(reading: DecodedCart, *, corrected: bool, unseen: bool) -> Trust:
    """Return how far a reading's probability counts for its cart: the gravest that holds."""
    if not reading.trained:
        return Trust.UNTRAINED
    if reading.overruled:
        return Trust.OVERRULED
    if corrected:
        return Trust.CORRECTED
    return Trust.UNSEEN if unseen else Trust.TRUSTED


def model_answer(reading: DecodedCart, trust: Trust) -> ModelAnswer:
    """Return the part of a reading that an order keeps."""
    unsure = (
        UnsurePiece(text=piece.text, probability=round(piece.probability, 2))
        for piece in reading.pieces
        if piece.probability < DOUBTED
    )
    sure = round(math.exp(reading.logprob), 4)
    return ModelAnswer(text=reading.text, probability=sure, trust=trust, unsure=tuple(unsure))


def validate(order: OrderRecord, tools: Tools) -> Outcome:
    """Check the draft against menu and transcript, and price it. Without a doubt the order is complete, or
    shown to its customer for confirmation; with any, it goes to review. What the customer chose before they
    said more is not asked again."""
    transcript = transcript_of(order)
    menu = tools.menu(order.shop, order.menu_id, order.menu_version).at(order.created_at)
    if order.draft is None:
        raise ValueError("A decoded order must have a draft")
    draft = order.draft if order.before is None else with_kept_items(order.draft, order.before, menu.menu)
    answer = order.answer or ModelAnswer()
    policy = tools.policy.of(tools.accepts(order.shop))
    decided = decide(draft, transcript, menu, answer, policy)
    if order.before is not None:
        kept = with_kept_answers(draft, order.before, decided.findings)
        if kept != draft:
            draft, decided = kept, decide(kept, transcript, menu, answer, policy)
    if again := ask_again(order, draft, decided.findings, tools, StageName.VALIDATE):
        return again
    decision = decided.decision
    return Outcome(
        _accepted(order, decided.findings, policy.accepts)
        if decision.verdict is Verdict.ACCEPTED
        else Event.DOUBTED,
        draft=draft,
        cart=decided.cart,
        findings=decided.findings,
        reasons=decision.reasons,
        decision=decision,
        detail={"reasons": [reason.value for reason in decision.reasons]},
    )


def _accepted(order: OrderRecord, findings: Iterable[Finding], accepts: Acceptance) -> Event:
    """Return the event of an order without a doubt. A page shows an allergy to the customer in any case."""
    allergy = any(finding.code == "allergy_said" for finding in findings)
    shown_first = order.confirm if accepts.at_once and not allergy else order.needs_yes
    return Event.PROPOSED if shown_first else Event.ACCEPTED


def ask_human(reason: ReviewReason, code: str, message: str, language: str) -> Outcome:
    """Return the outcome of a stage that can't go on: review. Only staff see the `message`."""
    sentence = sentences(language)(f"reason_{reason.value}")
    finding = Finding.blocking(code, sentence, detail=message)
    return Outcome(
        Event.DOUBTED,
        findings=(finding,),
        reasons=(reason,),
        detail={"reasons": [reason.value], "code": code},
    )


def transcript_of(order: OrderRecord) -> Transcript:
    """Return a transcribed order's transcript; raises ValueError if it has none."""
    if order.transcript is None:
        raise ValueError("A transcribed order must have a transcript")
    return order.transcript
