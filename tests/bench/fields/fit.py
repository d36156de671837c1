"""Fits `services/validation/confidence.json`: how likely each field of a cart is right, by kind of field.

    python -m tests.bench.fields.fit --heard heard.jsonl --write

HEARD is what `tests.bench.fields.hear` kept. Every figure is cross-validated: ten folds, and all recordings
of one voice (of real people, whose names are not known: of one recording) in the same fold. Takes a minute.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from infra.settings import settings
from schemas.compare import canonical
from schemas.decision import ACCEPT
from schemas.menu import Menu
from schemas.transcript import Transcript
from schemas.writable import clean
from services.learning.evaluation.score import right_fields
from services.learning.evaluation.statistics import auroc, expected_calibration_error, reliability, wilson
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.validation.alignment import KINDS, Kind
from services.validation.confidence import FEATURES, TABLES, Features, features
from services.validation.heard_words import with_heard
from tests.bench.fields.hear import kept, recordings
from tests.bench.fields.logistic import FOLDS, Array, cross_validated, fit

# Which way a feature may count; see `logistic.fit`.
SIGNS = {"mean": 1, "least": 1, "worst": 1, "inexact": -1, "unsaid": 0}
THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.92, 0.94, 0.96)
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Label:
    """One field of one recording; `right` is None where gold has no such line to compare it with."""

    features: Features
    right: bool | None


@dataclass(frozen=True, slots=True)
class Judged:
    """One recording's cart: its fields, whether it is exact, and the model's probability of it."""

    source: str
    rung: str
    group: str
    transcript: Transcript
    labels: list[Label]
    exact: bool
    probability: float


def read(heard: Path, people: Path | None) -> list[Judged]:
    """Every recording in which anything was heard, judged."""
    menus = {one.source: one.menu for one in recordings(people)}
    rows = kept(heard).values()
    return [judge(row, menus[row["source"]]) for row in rows if "lines" in row and row["source"] in menus]


def judge(row: dict[str, Any], menu: Menu) -> Judged:
    """The cart of a row against gold, field by field, with lines paired as the score pairs them."""
    transcript = Transcript.model_validate(row["transcript"])
    text = clean(transcript.text)
    found = retrieve(text, names_of(menu))
    draft = with_heard(row["lines"], text, found)
    lines = [line.model_dump(mode="json") for line in draft.lines]
    right = right_fields(row["gold"], lines)
    labels = [
        Label(one, right[at].get(one.name))
        for at, line in enumerate(features(draft, found, transcript))
        for one in line
    ]
    return Judged(
        source=row["source"],
        rung=row["rung"],
        group=row["group"],
        transcript=transcript,
        labels=labels,
        exact=canonical(row["gold"]) == canonical(lines),
        probability=0.0 if row["overruled"] else math.exp(row["logprob"]),
    )


def fit_kind(judged: Sequence[Judged], kind: Kind) -> tuple[dict[str, Any], dict[Place, float]]:
    """One kind's row of the table, and what the folds say of each field, by its place in `judged`."""
    rows = [
        (at, n, label, one)
        for at, one in enumerate(judged)
        for n, label in enumerate(one.labels)
        if label.features.kind == kind
    ]
    x: Array = np.array([label.features.values for _, _, label, _ in rows])
    y: Array = np.array([float(bool(label.right)) for _, _, label, _ in rows])
    asked = np.array([label.right is not None for *_, label, _ in rows])
    signs = [SIGNS[name] for name in FEATURES]
    found = cross_validated(x, y, [one.group for *_, one in rows], signs, asked)
    intercept, weights = fit(x[asked], y[asked], signs)
    labelled = [
        (label, one, float(p)) for (_, _, label, one), p, ask in zip(rows, found, asked, strict=True) if ask
    ]
    sure = [row for row in labelled if row[1].probability >= ACCEPT]
    row = {
        "intercept": round(intercept, 4),
        "weights": {name: round(float(w), 4) for name, w in zip(FEATURES, weights, strict=True)},
        "fields": len(labelled),
        "wrong": sum(not label.right for label, *_ in labelled),
        "cross_validated": {"all": _quality(labelled), "believed": _quality(sure)},
    }
    return row, {(at, n): float(p) for (at, n, *_), p in zip(rows, found, strict=True)}


def _quality(rows: Sequence[tuple[Label, Judged, float]]) -> dict[str, Any]:
    sure, right = [p for *_, p in rows], [bool(label.right) for label, *_ in rows]
    bins = reliability(sure, right)
    return {
        "fields": len(rows),
        "wrong": right.count(False),
        "auroc": auroc(sure, right),
        "ece": expected_calibration_error(bins),
    }


def curve(judged: Sequence[Judged], least: Sequence[float], gate: float) -> list[dict[str, Any]]:
    """What each threshold on the least sure field would do behind the ASR gate, of carts that the model is
    sure of; where two recognizers agreed, no field is doubted."""
    told = []
    for threshold in (0.0, *THRESHOLDS):
        over = [
            one
            for one, sure in zip(judged, least, strict=True)
            if one.probability >= ACCEPT
            and one.transcript.confidence >= gate
            and (one.transcript.agreed or sure >= threshold)
        ]
        silent = sum(not one.exact for one in over)
        told.append(
            {
                "threshold": threshold,
                "accepted": len(over),
                "accepted_clean": sum(one.rung == "clean" for one in over),
                "silent": silent,
                "silent_ci": wilson(silent, len(judged)),
            }
        )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--heard", type=Path, required=True)
    parser.add_argument("--people", type=Path, help="folder of real people's orders")
    parser.add_argument("--write", action="store_true", help="put the table into confidence.json")
    args = parser.parse_args()
    judged = read(args.heard, args.people)
    key = Counter(one.transcript.recogniser for one in judged).most_common(1)[0][0]
    kinds, sure = {}, dict[Place, float]()
    for kind in KINDS:
        kinds[kind], found = fit_kind(judged, kind)
        sure |= found
        print(kind, json.dumps(kinds[kind]))
    least = [min((sure[at, n] for n in range(len(one.labels))), default=0.0) for at, one in enumerate(judged)]
    told = curve(judged, least, settings().asr_threshold)
    print(*told, sep="\n")
    exact = [one.exact for one in judged]
    orders = {
        "orders": len(judged),
        "wrong": exact.count(False),
        "auroc_least_field": auroc(least, exact),
        "auroc_asr": auroc([one.transcript.confidence for one in judged], exact),
        "auroc_model": auroc([one.probability for one in judged], exact),
    }
    recorded = Counter(f"{one.source} {one.rung}" for one in judged)
    print(orders, recorded, sep="\n")
    if args.write:
        document = json.loads(TABLES.read_text())
        document["tables"][key] = {
            "date": datetime.now(UTC).date().isoformat(),
            "data": "tuned golden recordings and real people's orders, by source and rung",
            "recordings": dict(recorded),
            "folds": FOLDS,
            "features": list(FEATURES),
            "kinds": kinds,
            "orders": orders,
            "triage": told,
        }
        TABLES.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
