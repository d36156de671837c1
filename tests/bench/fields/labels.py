"""Hearings turned into fields with a label: was this value of the cart right?

Where the words leave one cart, that is what the mask would allow, so no language model is needed. Where they
leave something open, the cart that takes everything said stands in for what a model would choose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.cart import Severity
from schemas.compare import canonical
from schemas.menu import Menu
from schemas.transcript import Transcript, Word
from services.checks.confidence import Features, features
from services.checks.evidence import check_evidence
from services.checks.facts import check_facts
from services.engines.recognition.confidence import calibrated
from services.engines.recognition.whisper import Segment, is_phantom, raw_confidence
from services.evaluation.score import right_fields
from services.reading.order import read_order
from tests.carts import all_said


@dataclass(frozen=True, slots=True)
class Hearing:
    """One hearing of one order; `group` is its speaker where known, so that a fold never parts them."""

    id: str
    source: str
    rung: str
    group: str
    transcript: Transcript
    menu: Menu
    gold: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Label:
    """One field of one hearing; `right` is None where gold has no such line to compare it with."""

    features: Features
    right: bool | None


@dataclass(frozen=True, slots=True)
class Judged:
    """One hearing's cart: its fields, whether it is exact, and whether anything else is in doubt already."""

    hearing: Hearing
    labels: list[Label]
    exact: bool
    plain: bool
    blocked: bool


def judge(hearing: Hearing) -> Judged:
    """The cart of a hearing against gold, field by field, with lines paired as the score pairs them."""
    evidence = read_order(hearing.transcript.text, hearing.menu, 1)
    draft = all_said(evidence)
    lines = [line.model_dump(mode="json") for line in draft.lines]
    right = right_fields(hearing.gold, lines)
    labels = [
        Label(one, right[at].get(one.name))
        for at, found in enumerate(features(draft, evidence, hearing.transcript))
        for one in found
    ]
    findings = [*check_facts(draft, hearing.menu), *check_evidence(draft, evidence)]
    blocked = hearing.transcript.first_heard is not None or any(
        finding.severity is Severity.BLOCKING for finding in findings
    )
    exact = canonical(hearing.gold) == canonical(lines)
    return Judged(hearing, labels, exact, evidence.plain, blocked)


def calibration_hearings(path: Path, data: Path, key: str) -> Iterator[Hearing]:
    """What `tests/bench/hearing/calibrate_asr.py` heard and kept: real people, clean and mixed with noise."""
    menu = Menu.parse(json.loads((data / "menu.json").read_text()))
    gold = {row["id"]: row for row in map(json.loads, (data / "gold.jsonl").read_text().splitlines())}
    for row in map(json.loads, path.read_text().splitlines()):
        heard = transcript_of([segment_of(kept) for kept in row["segments"]], key)
        rung = "clean" if row["snr"] is None else f"mixed-{row['snr']}"
        yield Hearing(row["id"], "human", rung, row["id"], heard, menu, gold[row["id"]]["cart"]["lines"])


def segment_of(kept: dict[str, Any]) -> Segment:
    """A segment as `tests/bench/hearing/calibrate_asr.py` keeps it."""
    words = tuple(Word(text=t, start_s=s, end_s=e, probability=p) for t, s, e, p in kept["words"])
    return Segment(kept["text"], words, *kept["measures"])


def transcript_of(segments: Sequence[Segment], key: str) -> Transcript:
    """What the recogniser of this key says that it heard, were the segments its own just now."""
    words = tuple(word for one in segments if not is_phantom(one) for word in one.words)
    return Transcript(
        text=" ".join(word.text for word in words),
        confidence=calibrated(raw_confidence(list(segments)), key) if words else 0.0,
        words=words,
        source=key,
    )
