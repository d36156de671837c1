"""The steps of the stages: order in, outcome out, without storage or queue.

Errors pass through; the runner knows what each kind means.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.decision import ModelAnswer, Policy, Trust, UnsurePiece
from schemas.errors import AudioRefused
from schemas.lifecycle import Event, StageName
from schemas.menu import MenuVersion
from schemas.priced_cart import Finding
from schemas.records.orders import OrderRecord, Outcome, StoredUtterance
from schemas.review import ReviewReason
from schemas.sentences.sentences import sentences
from schemas.shops.settings import Acceptance
from schemas.transcript import Transcript, joined
from schemas.writable import clean
from services.decoding.ports import CartDecoder, CartRequest, DecodedCart
from services.pipeline.ask_customer import ask_again
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.transcription.audio.containers import AudioContainer
from services.transcription.ports import Recording, Transcriber
from services.transcription.second import with_second
from services.transcription.transcribe import transcribe_recording
from services.validation.alignment import aligned
from services.validation.decide import decide
from services.validation.inner_sizes import without_inner_sizes
from services.validation.notes import with_left_out
from services.validation.portions import has_nested, placed
from services.validation.questions import with_kept_answers
from services.validation.whole_cart import with_kept_items

if TYPE_CHECKING:
    from services.transcription.audio.audio import Samples

DOUBTED = 0.9
"""A number or name of the model's cart with a lower probability is shown to the reviewer."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What stages use. Engines are functions, so that a worker loads only the one its stage needs."""

    transcriber: Callable[[], Transcriber]
    decoder: Callable[[], CartDecoder]
    menu: Callable[[str, str, int], MenuVersion]
    """By shop, id and version."""
    recording: Callable[[str], AbstractContextManager[Path]]
    """A recording as a local file, in a `with`; raises RecordingLost, StorageUnavailable."""
    decode_audio: Callable[[Path], Samples]
    """Decode a recording to samples, as in `Recording.samples`."""
    second_transcriber: Callable[[], Transcriber | None]
    agreement: Callable[[str, str, float], float | None]
    """Measured share of right orders where two recognizers agree, by their `Transcript.source` and the
    first one's confidence."""
    policy: Policy
    accepts: Callable[[str], Acceptance] = lambda _: Acceptance()
    """By shop."""
    compact: Callable[[Recording], str | None] = lambda _: None
    """Store a smaller copy of the recording, as FLAC, and return its key; None if it is small already."""
    drop_recording: Callable[[str], object] = lambda _: None
    """Delete a stored recording, by its key, that no order refers to."""
    times_asked_again: Callable[[OrderRecord], int] = lambda _: 2**31
    """How often the customer was asked to repeat an order in the last hour."""
    chunked_prefill: bool = False
    """True if an order may be handed back while its menu is new to the model; see `CartRequest`."""
    called_off: threading.Event | None = None
    """Set once the order is no longer this worker's; long work may stop then."""


def transcribe(order: OrderRecord, tools: Tools) -> Outcome:
    """Transcribe the recordings that are not yet. Silence in all of them goes to a human, undecoded."""
    utterances: tuple[StoredUtterance, ...] = ()
    with ExitStack() as copies:  # are deleted if a later utterance fails
        for one in order.all_utterances:
            utterances += (done := _transcribed(one, order, tools),)
            if done.audio_key is not None and done.audio_key != one.audio_key:
                copies.callback(tools.drop_recording, done.audio_key)
        copies.pop_all()
    transcript = joined([one.transcript for one in utterances if one.transcript is not None])
    if not transcript.nothing_was_said:
        return Outcome(Event.TRANSCRIBED, transcript=transcript, utterances=utterances)
    finding = Finding.blocking("nothing_heard", sentences(order.language)("nothing_said"))
    if again := ask_again(order, None, (finding,), tools.times_asked_again, StageName.TRANSCRIBE):
        return replace(again, utterances=utterances)
    return Outcome(
        Event.DOUBTED,
        transcript=transcript,
        utterances=utterances,
        findings=(finding,),
        reasons=(ReviewReason.NOTHING_HEARD,),
    )


def _transcribed(utterance: StoredUtterance, order: OrderRecord, tools: Tools) -> StoredUtterance:
    """Return the utterance with its transcript, and its recording's smaller copy. One of several that is
    unplayable is as one in which nothing was said, so that the others are not lost with it."""
    if utterance.transcript is not None:
        return utterance
    if utterance.audio_key is None:
        raise ValueError("An utterance without a transcript must have a recording")
    names = names_of(tools.menu(order.shop, order.menu_id, order.menu_version).menu)
    try:
        with tools.recording(utterance.audio_key) as file:
            recording = Recording(file, tools.decode_audio, tools.called_off)
            transcript = transcribe_recording(
                recording, order.language, names, tools.transcriber(), floor=tools.policy.asr_threshold
            )
            transcript = with_second(recording, transcript, names, tools.second_transcriber, tools.agreement)
            found: dict[str, Any] = {"transcript": transcript}
            if flac := tools.compact(recording):
                found |= {"audio_key": flac, "audio_format": AudioContainer.FLAC.value}
    except AudioRefused:
        if not order.utterances:
            raise
        silent = Transcript(text="", confidence=0.0, language=order.language)
        found = {"transcript": silent, "audio_key": None}
    return utterance.model_copy(update=found)


def decode(order: OrderRecord, tools: Tools) -> Outcome:
    """Have the language model write the cart from the transcripts of one or two recognizers."""
    if order.transcript is None:
        raise ValueError("A transcribed order must have a transcript")
    transcript = order.transcript
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
        engine=reading.by,
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
    transcript, draft = order.transcript, order.draft
    if transcript is None or draft is None:
        raise ValueError("A decoded order must have a transcript and a draft")
    menu = tools.menu(order.shop, order.menu_id, order.menu_version).at(order.created_at)
    if order.before is not None:
        draft = with_kept_items(draft, order.before, menu.menu)
    answer = order.answer or ModelAnswer()
    policy = tools.policy.of(tools.accepts(order.shop))
    decided = decide(draft, transcript, menu, answer, policy)
    if order.before is not None:
        kept = with_kept_answers(draft, order.before, decided.findings)
        if kept != draft:
            draft, decided = kept, decide(kept, transcript, menu, answer, policy)
    if again := ask_again(order, draft, decided.findings, tools.times_asked_again, StageName.VALIDATE):
        return again
    decision = decided.decision
    return Outcome(
        Event.DOUBTED if decision.reasons else _accepted(order, decided.findings, policy.accepts),
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
