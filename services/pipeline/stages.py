"""The steps themselves: what each stage does with an order. Pure of storage and queue: order in, outcome
out. Errors pass through; the runner knows what each kind means."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from schemas.cart import Finding
from schemas.decision import ModelAnswer, UnsurePiece, Verdict
from schemas.errors import Unreadable
from schemas.lifecycle import Event, StageName
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from schemas.sentences.sentences import sentences
from schemas.transcript import Transcript
from schemas.wording import told
from schemas.writable import clean
from services.decoding.ports import CartRequest, Reading
from services.pipeline.ports import Tools
from services.pipeline.said_again import say_it_again
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.transcription.ports import Recording
from services.transcription.second import with_second
from services.transcription.transcribe import hear
from services.validation.decide import decide
from services.validation.heard_words import with_heard
from services.validation.inner_sizes import CORRECTED, without_inner_sizes
from services.validation.triage import doubts

DOUBTED = 0.9
"""Probability of one number or name of the model's cart under which a human is shown it."""


def transcribe(order: OrderRecord, tools: Tools) -> Outcome:
    """Hear the recording. Silence needs no decoding: it goes to a human as it is."""
    if order.audio_key is None:
        raise ValueError("An order without a transcript must have a recording")
    started = time.perf_counter()
    with tools.recording(order.audio_key) as file:
        recording = Recording(file, tools.decode_audio)
        found = _hear(recording, order, tools)
        timings: dict[str, float] = {StageName.TRANSCRIBE: time.perf_counter() - started}
        outcome = _transcribed(found, order, tools, timings)
        return outcome if outcome.refused else replace(outcome, recording=tools.compacted(recording))


def _transcribed(
    transcript: Transcript, order: OrderRecord, tools: Tools, timings: dict[str, float]
) -> Outcome:
    if not transcript.nothing_was_said:
        return Outcome(Event.TRANSCRIBED, transcript=transcript, timings=timings)
    finding = Finding.blocking("nothing_heard", sentences(order.language)("nothing_said"))
    again = say_it_again(order, None, (finding,), tools, StageName.TRANSCRIBE)
    return again or Outcome(
        Event.DOUBTED,
        transcript=transcript,
        findings=(finding,),
        reasons=doubts(transcript, [finding], asr_threshold=tools.policy.asr_threshold),
        timings=timings,
    )


def _hear(recording: Recording, order: OrderRecord, tools: Tools) -> Transcript:
    names = names_of(tools.menu(order.shop, order.menu_id, order.menu_version).menu)
    first = hear(recording, order.language, names, tools.transcriber(), floor=tools.policy.asr_threshold)
    return with_second(recording, first, names, tools.second_transcriber, tools.agreement)


def decode(order: OrderRecord, tools: Tools) -> Outcome:
    """Have the language model write the cart, from what one or two recognizers heard."""
    started = time.perf_counter()
    transcript = heard(order)
    menu = tools.menu(order.shop, order.menu_id, order.menu_version).menu
    second = "" if transcript.agreed else transcript.second or ""
    asked = CartRequest(clean(transcript.text), menu, clean(second))
    reading = tools.decoder().decode(asked, tools.called_off, in_gaps=tools.in_gaps)
    names = names_of(menu)
    found = retrieve(asked.transcript, names)
    lines = without_inner_sizes(reading.lines, asked.transcript, names, found)
    return Outcome(
        Event.DECODED,
        draft=with_heard(lines, asked.transcript, found, reading.notes),
        answer=answered(reading, corrected=lines != list(reading.lines)),
        timings={StageName.DECODE: time.perf_counter() - started},
        engine={
            "decoder": reading.engine,
            "grammar": reading.grammar,
            "prompt_tokens": reading.prompt_tokens,
            "completion_tokens": reading.completion_tokens,
            "cached_tokens": reading.cached_tokens,
        },
    )


def answered(reading: Reading, *, corrected: bool = False) -> ModelAnswer:
    """What is kept of a model's answer. One that was not trained for orders, or that the mask overruled, is
    never sure of its cart; a cart that was `corrected` is not sure enough to be accepted."""
    sure = math.exp(reading.logprob) if reading.trained and not reading.overruled else 0.0
    sure = min(sure, CORRECTED) if corrected else sure
    unsure = (UnsurePiece(text=t, probability=round(p, 2)) for t, p in reading.pieces if p < DOUBTED)
    return ModelAnswer(text=reading.text, probability=round(sure, 4), unsure=tuple(unsure))


def validate(order: OrderRecord, tools: Tools) -> Outcome:
    """Check the draft against the menu and against what was heard, and price it. Without a doubt the order is
    complete, or shown to its customer first; with any, a human looks."""
    started = time.perf_counter()
    transcript, menu = heard(order), tools.menu(order.shop, order.menu_id, order.menu_version)
    if order.draft is None:
        raise ValueError("A decoded order must have a draft")
    made = decide(order.draft, transcript, menu, order.answer or ModelAnswer(), tools.policy)
    if again := say_it_again(order, order.draft, made.findings, tools, StageName.VALIDATE):
        return again
    decision = made.decision
    settled = Event.PROPOSED if order.confirm else Event.ACCEPTED
    return Outcome(
        settled if decision.verdict is Verdict.ACCEPTED else Event.DOUBTED,
        cart=made.cart,
        findings=made.findings,
        reasons=decision.reasons,
        decision=decision,
        timings={StageName.VALIDATE: time.perf_counter() - started},
        detail={"reasons": [reason.value for reason in decision.reasons]},
    )


def ask_human(reason: ReviewReason, code: str, message: str) -> Outcome:
    """The way out of any stage that can't go on: what is known so far, in front of a human, who alone reads
    the `message`."""
    finding = Finding.blocking(code, told(reason), detail=message)
    return Outcome(
        Event.DOUBTED,
        findings=(finding,),
        reasons=(reason,),
        detail={"reasons": [reason.value], "code": code},
    )


def unread(error: Unreadable) -> Outcome:
    """The way out of any stage where the words can't be read over the menu: no model is asked, and it is no
    failure, since every try would come to the same."""
    reason = ReviewReason.TOO_MUCH_TO_READ
    finding = Finding.blocking(error.code, told(reason), detail=f"{error.detail}. {error.hint}")
    return Outcome(Event.DOUBTED, findings=(finding,), reasons=(reason,), detail={"reasons": [reason.value]})


def heard(order: OrderRecord) -> Transcript:
    """What an order that has been heard says; raises ValueError where it has not."""
    if order.transcript is None:
        raise ValueError("A transcribed order must have a transcript")
    return order.transcript
