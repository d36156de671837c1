"""The steps themselves: what each stage does with an order. Pure of storage and queue: order in, outcome
out. Errors pass through; the runner knows what each kind means."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import structlog

from schemas.cart import Finding
from schemas.decision import Verdict
from schemas.errors import DecodeCancelled, StorageUnavailable, Unreadable
from schemas.evidence import Evidence
from schemas.lifecycle import Event, StageName
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from schemas.sentences.sentences import sentences
from schemas.wording import told
from services.checks.decide import decide
from services.checks.one_cart import undoubted_cart, written
from services.checks.tidy import drop_echoes
from services.checks.triage import doubts
from services.checks.two_readers import READ_ONCE, compare, guessed
from services.engines.ports import Decoded, Reading, Recording, Scored
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
        found = _hear(Recording(file, tools.decode_audio), order, tools)
    transcript = found.transcript
    timings: dict[str, float] = {StageName.TRANSCRIBE: time.perf_counter() - started}
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
    """Have the learned reader read the words too, and hold its cart against the rules'. Without one: decode a
    cart under the mask made from the evidence; a settled one to see that it comes to the same."""
    return _by_evidence(order, tools, lambda evidence: _asked(evidence, order, tools))


def _by_evidence(order: OrderRecord, tools: Tools, made: Callable[[Evidence], Outcome]) -> Outcome:
    """Run `made` with the order's evidence. Where nobody has worked that out before, it is kept with the
    outcome, so that the draft is judged by what it was made from."""
    started = time.perf_counter()
    menu = tools.menu(order.shop, order.menu_id, order.menu_version)
    evidence, document = to_keep(order, menu)
    outcome = made(evidence)
    seconds = {StageName.DECODE.value: time.perf_counter() - started}
    if document is order.evidence:
        return replace(outcome, timings=seconds)
    return replace(outcome, evidence=document, timings=seconds)


def _asked(evidence: Evidence, order: OrderRecord, tools: Tools) -> Outcome:
    undoubted = undoubted_cart(evidence) is not None
    reading = tools.learned_reader().read(
        evidence,
        tools.called_off,
        written(evidence) or guessed(evidence),
        settled=undoubted,
        in_gaps=tools.in_gaps,
    )
    if reading is not None:
        return _read_twice(reading, evidence, order, tools)
    decoded = tools.decoder().decode(evidence, tools.called_off)
    return _read_once(_decoded(decoded, evidence), tools)


def _read_once(outcome: Outcome, tools: Tools) -> Outcome:
    """Mark what no learned reader has read, where two were to."""
    if not tools.two_readings:
        return outcome
    return replace(outcome, readings=READ_ONCE)


def decode_elsewhere(order: OrderRecord, tools: Tools) -> Outcome | None:
    """The alternative decoder, once the first has stayed down; None when there is none or it fails too."""
    try:
        decoder = tools.fallback_decoder()
        if decoder is None:
            return None
        outcome = _by_evidence(
            order,
            tools,
            lambda evidence: _decoded(decoder.decode(evidence, tools.called_off), evidence),
        )
    except (DecodeCancelled, StorageUnavailable):
        raise
    except Unreadable as error:
        return unread(error)
    except Exception:
        # It is the last resort: whatever is wrong with it, a human is next, not another round.
        log.exception("decode.fallback_failed", order_id=order.id)
        return None
    log.warning("decode.fallback_used", order_id=order.id)
    return _read_once(replace(outcome, event=Event.DECODED_ELSEWHERE), tools)


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


def _read_twice(reading: Reading, evidence: Evidence, order: OrderRecord, tools: Tools) -> Outcome:
    compared = compare(reading, evidence)
    second = other_words(compared, evidence, heard(order), tools)
    return Outcome(
        Event.DECODED,
        draft=compared.draft,
        readings=compared.readings.model_copy(update={"second_transcript": second}),
        engine={
            "decoder": reading.engine,
            "grammar": reading.grammar,
            "prompt_tokens": reading.prompt_tokens,
            "completion_tokens": reading.completion_tokens,
            "cached_tokens": reading.cached_tokens,
        },
    )


def _decoded(decoded: Decoded, evidence: Evidence) -> Outcome:
    draft, echoes = drop_echoes(decoded.draft, evidence)
    return Outcome(
        Event.DECODED,
        draft=draft,
        engine={
            "decoder": decoded.engine,
            "grammar": decoded.grammar,
            "prompt_tokens": decoded.prompt_tokens,
            "completion_tokens": decoded.completion_tokens,
            "requests": decoded.requests,
            "cached_tokens": decoded.cached_tokens,
            "echoes_dropped": echoes,
            **(_without_mask(decoded.scored) if decoded.scored else {}),
        },
    )


def _without_mask(scored: Scored) -> dict[str, Any]:
    """What an order keeps of its scores: the tokens that the mask chose against the model, in all and by
    field, and each field's own probability."""
    return {
        "overruled": sum(scored.overruled.values()),
        "overruled_fields": scored.overruled,
        "unmasked_probability": {field: round(p, 4) for field, p in scored.probability.items()},
    }
