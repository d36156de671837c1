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
from schemas.transcript import Transcript, joined
from schemas.writable import clean
from services.pipeline.flow import FLOW
from services.pipeline.ports import Tools

_FILLED = ("transcript", "draft", "answer", "cart", "findings", "reasons", "decision", "engine", "error")
# Of an unforeseen error: enough to find it.
MAX_ERROR_CHARS = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_rows(path: Path, *, spoken: bool = True) -> list[dict[str, Any]]:
    """Rows of a gold file; `utterances` of one are joined as its `utterance`, as an order's are. One that is
    not JSON, lacks `id`, `cart` or both `utterance` and `audio` (which counts if `spoken`), or has the id of
    another, is only its `error`, with its line for an id ("line 7"): one bad row ends no run."""
    rows: list[dict[str, Any]] = []
    used: set[str] = set()
    # Not `splitlines`: JSON may hold a line separator of Unicode as it is.
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = _row(line, spoken=spoken)
            if row["id"] in used:
                raise ValueError(f"the id {row['id']!r} is another row's already")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            row = {"id": f"line {number}", "error": repr(error)}
        used.add(row["id"])
        rows.append(row)
    return rows


def _row(line: str, *, spoken: bool) -> dict[str, Any]:
    """Return a gold row. Raises what `read_rows` catches, where it can't be used."""
    row: dict[str, Any] = json.loads(line)
    if not isinstance(row["id"], str) or not isinstance(row["cart"]["lines"], list):
        raise TypeError("`id` is a string and `cart.lines` a list")
    if several := row.get("utterances"):
        row["utterance"] = joined([Transcript(text=clean(text), confidence=1.0) for text in several]).text
    if not row.get("utterance") and not (spoken and row.get("audio")):
        raise KeyError("utterance, or audio with --audio-dir")
    canonical(row["cart"]["lines"])
    return row


def predict(row: dict[str, Any], menu: Menu, tools: Tools, audio_dir: Path | None) -> dict[str, Any]:
    """Return one prediction row (see the contract).

    A stage that fails is a review, and so is a recording that can't be read: no customer would get that cart
    unseen either. What a later try may fix, or was not foreseen, is the row's `error` too.
    """
    here = replace(
        tools,
        menu=lambda shop, _id, version: MenuVersion(shop, menu, version, "", _EPOCH),
        recording=lambda key: nullcontext((audio_dir or Path()) / key),
    )
    order = _order(row, menu, spoken=audio_dir is not None and bool(row.get("audio")))
    order, ms, reasons, failed = _through(order, here)
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


def _through(
    order: OrderRecord, tools: Tools
) -> tuple[OrderRecord, dict[str, float], list[str], dict[str, str]]:
    """The order at the end of its way; the milliseconds of each stage; where one failed, why a human must
    look, and the row's `error`."""
    ms: dict[str, float] = {}
    reasons: list[str] = []
    failed: dict[str, str] = {}
    while order.state in FLOW and not reasons:
        stage, started = FLOW[order.state], time.perf_counter()
        try:
            outcome = stage.step(order, tools)
            filled = {name: found for name in _FILLED if (found := getattr(outcome, name)) is not None}
            order = replace(order, state=advance(order.state, outcome.event), **filled)
        except SaycartError as error:
            reasons = [error.code]
            if error.retryable:
                failed = {"error": f"{error.code}: {error.detail}"}
        except Exception as error:
            # A fault of ours at one order: a worker would try it again and then ask a human.
            named = f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]
            reasons, failed = [ReviewReason.STAGE_FAILED.value], {"error": named}
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
