"""Run gold rows through the pipeline's own steps, in process: no server, queue or database of orders."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from schemas.compare import canonical
from schemas.errors import SaycartError
from schemas.lifecycle import StageName, State, advance
from schemas.menu import Menu, MenuVersion
from schemas.open_questions import open_question
from schemas.records.orders import OrderRecord
from schemas.review import ReviewReason
from schemas.shops.access import MAIN_SHOP
from schemas.shops.settings import Acceptance
from schemas.transcript import Transcript, joined
from schemas.writable import clean
from services.pipeline.flow import FLOW
from services.pipeline.stages import Tools

_FILLED = ("transcript", "draft", "answer", "cart", "findings", "reasons", "decision", "engine", "error")
MAX_ERROR_CHARS = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_rows(path: Path, *, spoken: bool = True) -> list[dict[str, Any]]:
    """Read a gold file. `utterances` are joined into `utterance` as in an order.

    A row that is invalid (not JSON, without `id` or `cart`, without `utterance` or, if `spoken`, `audio`, or
    with a repeated id) becomes only an `error`, with its line as its id ("line 7"), and stops no run."""
    rows: list[dict[str, Any]] = []
    used: set[str] = set()
    # Not `splitlines`: JSON strings may contain Unicode line separators.
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = _row(line, spoken=spoken)
            if row["id"] in used:
                raise ValueError(f"another row has the id {row['id']!r}")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            row = {"id": f"line {number}", "error": repr(error)}
        used.add(row["id"])
        rows.append(row)
    return rows


def _row(line: str, *, spoken: bool) -> dict[str, Any]:
    """Parse a gold row. Raises one of the errors that `read_rows` catches if it is invalid."""
    row: dict[str, Any] = json.loads(line)
    if not isinstance(row["id"], str) or not isinstance(row["cart"]["lines"], list):
        raise TypeError("`id` must be a string and `cart.lines` a list")
    if several := row.get("utterances"):
        row["utterance"] = joined([Transcript(text=clean(text), confidence=1.0) for text in several]).text
    if not row.get("utterance") and not (spoken and row.get("audio")):
        raise KeyError("utterance, or audio with --audio-dir")
    canonical(row["cart"]["lines"])
    return row


def predict(row: dict[str, Any], menu: Menu, tools: Tools, audio_dir: Path | None) -> dict[str, Any]:
    """Return one prediction row.

    A failed stage or an unreadable recording counts as a review, as it would for a customer's order. If a
    retry may help, or the error was unexpected, it is the row's `error` too.
    """
    local = replace(
        tools,
        menu=lambda shop, _id, version: MenuVersion(shop, menu, version, "", _EPOCH),
        recording=lambda key: nullcontext((audio_dir or Path()) / key),
        accepts=lambda _: Acceptance(),
    )
    order = _order(row, menu, spoken=audio_dir is not None and bool(row.get("audio")))
    order, ms, reasons, failed = _process(order, local)
    reasons += [reason.value for reason in order.reasons]
    draft = order.draft.model_dump(mode="json") if order.draft else {"lines": []}
    transcript = order.known_transcript
    question = open_question(order.findings, order.reasons)
    return {
        "id": row["id"],
        "cart": draft,
        "transcript": transcript.text,
        "confidence": transcript.confidence,
        "decision": "review" if reasons else "accept",
        "reasons": reasons,
        "findings": [finding.model_dump(mode="json") for finding in order.findings],
        "question": _document(question),
        "answer": _document(order.answer),
        "second": transcript.second,
        "ms": {name.value: round(ms.get(name, 0.0), 1) for name in StageName},
        **failed,
    }


def _document(value: BaseModel | None) -> dict[str, Any] | None:
    return value.model_dump(mode="json") if value is not None else None


def _process(
    order: OrderRecord, tools: Tools
) -> tuple[OrderRecord, dict[str, float], list[str], dict[str, str]]:
    """Run all stages. Return the final order, the milliseconds of each stage and, if one failed, the reasons
    for its review and the row's `error`."""
    ms: dict[str, float] = {}
    reasons: list[str] = []
    failed: dict[str, str] = {}
    while order.state in FLOW and not reasons:
        stage, started = FLOW[order.state], time.perf_counter()
        try:
            outcome = stage.step(order, tools)
            changes = {name: value for name in _FILLED if (value := getattr(outcome, name)) is not None}
            order = replace(order, state=advance(order.state, outcome.event), **changes)
        except SaycartError as error:
            reasons = [error.code]
            if error.retryable:
                failed = {"error": f"{error.code}: {error.detail}"}
        except Exception as error:
            # A worker would retry it, and then ask a human.
            text = f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]
            reasons, failed = [ReviewReason.STAGE_FAILED.value], {"error": text}
        ms[stage.name] = (time.perf_counter() - started) * 1000
    return order, ms, reasons, failed


def _order(row: dict[str, Any], menu: Menu, *, spoken: bool) -> OrderRecord:
    text = clean(row.get("utterance") or "")
    return OrderRecord(
        id=row["id"],
        shop=MAIN_SHOP,
        state=State.RECEIVED if spoken else State.TRANSCRIBED,
        version=1,
        menu_id=menu.id,
        menu_version=1,
        language=menu.language,
        audio_key=row["audio"] if spoken else None,
        transcript=None if spoken else Transcript(text=text, confidence=1.0),
        attempt=1,
        created_at=_EPOCH,
        updated_at=_EPOCH,
    )
