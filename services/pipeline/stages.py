"""The steps themselves: what each stage does with an order. Pure of storage and queue: order in, outcome
out. Errors pass through; the runner knows what each kind means."""

from __future__ import annotations

import time
from dataclasses import replace

import structlog

from schemas.cart import Finding
from schemas.decision import Verdict
from schemas.errors import DecodeCancelled, StorageUnavailable, Unreadable
from schemas.lifecycle import Event, StageName
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from schemas.sentences.sentences import sentences
from schemas.wording import told
from services.checks.decide import decide
from services.checks.one_cart import undoubted_cart, written
from services.checks.triage import doubts
from services.checks.two_readers import compare, guessed
from services.engines.ports import Recording
from services.hearing.second_hearing import Heard, hear
from services.hearing.second_recogniser import with_witness
from services.pipeline.borne_out import other_words
from services.pipeline.kept_evidence import evidence_of, heard, kept, to_keep
from services.pipeline.ports import Tools
from services.pipeline.said_again import say_it_again

log = structlog.get_logger()


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


def _transcribed(found: Heard, order: OrderRecord, tools: Tools, timings: dict[str, float]) -> Outcome:
    transcript = found.transcript
    if found.unread is not None:
        return replace(unread(found.unread), transcript=transcript, timings=timings)
    if transcript.nothing_was_said:
        finding = Finding.blocking("nothing_heard", sentences(order.language)("nothing_said"))
        again = say_it_again(order, None, (finding,), tools, StageName.TRANSCRIBE)
        return again or Outcome(
            Event.DOUBTED,
            transcript=transcript,
            findings=(finding,),
            reasons=doubts(transcript, [finding], asr_threshold=tools.asr_threshold),
            timings=timings,
        )
    evidence = kept(found.evidence) if found.evidence is not None else None
    return Outcome(Event.TRANSCRIBED, transcript=transcript, evidence=evidence, timings=timings)


def _hear(recording: Recording, order: OrderRecord, tools: Tools) -> Heard:
    menu = tools.menu(order.shop, order.menu_id, order.menu_version)
    ears, floor = tools.transcriber(), tools.asr_threshold
    found = hear(recording, order.language, menu.menu, menu.version, ears, floor=floor)
    return with_witness(
        recording,
        found,
        menu.menu,
        menu.version,
        tools.second_transcriber,
        tools.agreement,
        floor=floor,
        field_threshold=tools.field_threshold,
    )


def decode(order: OrderRecord, tools: Tools) -> Outcome:
    """Have the language model write the cart, and compare it with what the rules find in the same words. What
    they find is kept with the outcome where nobody has worked it out before, so that the draft is judged by
    what it was compared with."""
    started = time.perf_counter()
    evidence, document = to_keep(order, tools.menu(order.shop, order.menu_id, order.menu_version))
    reading = tools.decoder().decode(
        evidence,
        tools.called_off,
        written(evidence) or guessed(evidence),
        settled=undoubted_cart(evidence) is not None,
        in_gaps=tools.in_gaps,
    )
    compared = compare(reading, evidence)
    second = other_words(compared, evidence, heard(order), tools)
    return Outcome(
        Event.DECODED,
        evidence=document if document is not order.evidence else None,
        draft=compared.draft,
        readings=compared.readings.model_copy(update={"second_transcript": second}),
        timings={StageName.DECODE: time.perf_counter() - started},
        engine={
            "decoder": reading.engine,
            "grammar": reading.grammar,
            "prompt_tokens": reading.prompt_tokens,
            "completion_tokens": reading.completion_tokens,
            "cached_tokens": reading.cached_tokens,
        },
    )


def decode_elsewhere(order: OrderRecord, tools: Tools) -> Outcome | None:
    """The alternative decoder, once the first has stayed down; None when there is none or it fails too."""
    try:
        decoder = tools.fallback_decoder()
        if decoder is None:
            return None
        outcome = decode(order, replace(tools, decoder=lambda: decoder, in_gaps=False))
    except (DecodeCancelled, StorageUnavailable):
        raise
    except Unreadable as error:
        return unread(error)
    except Exception:
        # It is the last resort: whatever is wrong with it, a human is next, not another round.
        log.exception("decode.fallback_failed", order_id=order.id)
        return None
    log.warning("decode.fallback_used", order_id=order.id)
    return replace(outcome, event=Event.DECODED_ELSEWHERE)


def validate(order: OrderRecord, tools: Tools) -> Outcome:
    """Check the draft against the menu and against what was heard, and price it. Without a doubt the order is
    complete, or shown to its customer first; with any, a human looks."""
    started = time.perf_counter()
    transcript, menu = heard(order), tools.menu(order.shop, order.menu_id, order.menu_version)
    if order.draft is None:
        raise ValueError("A decoded order must have a draft")
    policy = tools.policy(confirm=order.confirm)
    made = decide(order.draft, transcript, evidence_of(order, menu), order.readings, policy)
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
