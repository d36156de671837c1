"""The steps themselves: what each stage does with an order. Pure of storage and queue: order in, outcome
out. Errors pass through; the runner knows what each kind means."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import structlog

from schemas.cart import Finding
from schemas.errors import DecodeCancelled, RecordingLost
from schemas.evidence import Evidence
from schemas.lifecycle import Event
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.engines.ports import Decoded, Scored
from services.pipeline.facts import check_facts, check_total
from services.pipeline.fields import field_confidences
from services.pipeline.hearing import hear
from services.pipeline.one_cart import written
from services.pipeline.ports import Tools
from services.pipeline.price import price_cart
from services.pipeline.retrieve import retrieve
from services.pipeline.tidy import drop_echoes
from services.pipeline.triage import doubts
from services.pipeline.validate import check_evidence, check_fields, check_hearing
from services.pipeline.witness import with_witness
from services.storage.records import OrderRecord, Outcome

log = structlog.get_logger()


def transcribe(order: OrderRecord, tools: Tools) -> Outcome:
    """Hear the recording. Silence needs no decoding: it goes to a human as it is."""
    if order.audio_key is None:
        raise ValueError("An order without a transcript must have a recording")
    recording = tools.recording(order.audio_key)
    if not recording.exists():
        raise RecordingLost("The recording of this order is gone")
    started = time.perf_counter()
    menu = tools.menu(order.menu_id, order.menu_version)
    transcript = hear(recording, order.language, menu.menu, menu.version, tools.transcriber())
    transcript = with_witness(
        recording, transcript, menu.menu, menu.version, tools.second_transcriber, tools.agreement
    )
    timings = {"transcribe": time.perf_counter() - started}
    if transcript.nothing_was_said:
        finding = Finding.blocking("nothing_heard", "Nothing was said in this recording")
        return Outcome(
            Event.DOUBTED,
            transcript=transcript,
            findings=(finding,),
            reasons=doubts(transcript, [finding], asr_threshold=tools.asr_threshold),
            timings=timings,
        )
    return Outcome(Event.TRANSCRIBED, transcript=transcript, timings=timings)


def decode(order: OrderRecord, tools: Tools) -> Outcome:
    """Retrieve what the words may mean, then decode a cart under the mask made from it; with `skip_settled`
    not where the mask leaves one cart."""
    transcript, menu = _heard(order), tools.menu(order.menu_id, order.menu_version)
    started = time.perf_counter()
    evidence = retrieve(transcript.text, menu.menu, menu.version)
    if tools.skip_settled and (draft := written(evidence)) is not None:
        timings = {"decode": time.perf_counter() - started}
        return Outcome(Event.DECODED, draft=draft, timings=timings, engine={"decoder": "none: settled"})
    return _decoded(tools.decoder().decode(evidence, tools.called_off), evidence)


def decode_elsewhere(order: OrderRecord, tools: Tools) -> Outcome | None:
    """The alternative decoder, once the first has stayed down; None when there is none or it fails too."""
    decoder = tools.fallback_decoder()
    if decoder is None:
        return None
    transcript, menu = _heard(order), tools.menu(order.menu_id, order.menu_version)
    evidence = retrieve(transcript.text, menu.menu, menu.version)
    try:
        outcome = _decoded(decoder.decode(evidence, tools.called_off), evidence)
    except DecodeCancelled:
        raise
    except Exception:
        # It is the last resort: whatever is wrong with it, a human is next, not another round.
        log.exception("decode.fallback_failed", order_id=order.id)
        return None
    log.warning("decode.fallback_used", order_id=order.id)
    return replace(outcome, event=Event.DECODED_ELSEWHERE)


def validate(order: OrderRecord, tools: Tools) -> Outcome:
    """Check the draft against the menu and against what was heard, and price it."""
    started = time.perf_counter()
    transcript, menu = _heard(order), tools.menu(order.menu_id, order.menu_version)
    if order.draft is None:
        raise ValueError("A decoded order must have a draft")
    evidence = retrieve(transcript.text, menu.menu, menu.version)
    findings = check_facts(order.draft, menu.menu) + check_evidence(order.draft, evidence)
    findings += check_hearing(transcript)
    fields = field_confidences(order.draft, evidence, transcript)
    findings += check_fields(fields, tools.field_threshold)
    cart = price_cart(order.draft, menu.menu, menu.version, transcript, findings, fields)
    findings += check_total(cart.total, tools.max_order_total)
    return Outcome(
        Event.VALIDATED,
        cart=cart,
        findings=tuple(findings),
        timings={"validate": time.perf_counter() - started},
    )


def triage(order: OrderRecord, tools: Tools) -> Outcome:
    """Complete the order or show it to its customer first; with any doubt, hand it to a human."""
    started = time.perf_counter()
    reasons = doubts(_heard(order), order.findings, asr_threshold=tools.asr_threshold)
    settled = Event.PROPOSED if order.confirm else Event.ACCEPTED
    return Outcome(
        Event.DOUBTED if reasons else settled,
        reasons=reasons,
        timings={"triage": time.perf_counter() - started},
        detail={"reasons": [reason.value for reason in reasons]},
    )


def ask_human(reason: ReviewReason, code: str, message: str) -> Outcome:
    """The way out of any stage that can't go on: what is known so far, in front of a human."""
    finding = Finding.blocking(code, message)
    return Outcome(
        Event.DOUBTED,
        findings=(finding,),
        reasons=(reason,),
        detail={"reasons": [reason.value], "code": code},
    )


def _heard(order: OrderRecord) -> Transcript:
    if order.transcript is None:
        raise ValueError("A transcribed order must have a transcript")
    return order.transcript


def _decoded(decoded: Decoded, evidence: Evidence) -> Outcome:
    draft, echoes = drop_echoes(decoded.draft, evidence)
    return Outcome(
        Event.DECODED,
        draft=draft,
        timings={"decode": decoded.seconds},
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
