"""Fits `services/checks/confidence.json`: how likely each field of a cart is right, by kind of field.

    python -m tests.bench.fields.fit --heard heard.jsonl --human DIR --calibration heard-NAME.jsonl --write

HEARD is what `tests.bench.fields.hear` kept, CALIBRATION what `tests.bench.hearing.calibrate_asr --heard`
kept of the recordings in DIR. Every figure is cross-validated: ten folds, and all hearings of one voice (of
real people, whose names are not known: of one recording) in the same fold. Takes a minute.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from infra.settings import settings
from schemas.transcript import Transcript
from services.checks.confidence import FEATURES, TABLES
from services.checks.traces import KINDS, Kind
from services.evaluation.statistics import auroc, expected_calibration_error, reliability, wilson
from tests.bench.fields.hear import kept, listener, recordings
from tests.bench.fields.labels import Hearing, Judged, Label, calibration_hearings, judge
from tests.bench.fields.logistic import FOLDS, Array, cross_validated, fit

# Which way a feature may count; see `logistic.fit`.
SIGNS = {
    "mean": 1,
    "least": 1,
    "worst": 1,
    "inexact": -1,
    "guessed": -1,
    "unsaid": 0,
    "chosen": -1,
    "doubt": -1,
}
THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.92, 0.94, 0.96)
Place = tuple[int, int]


def read(heard: Path, human: Path | None, calibration: Path | None, key: str) -> list[Judged]:
    """Every hearing that has words, judged."""
    known = {one.gold["id"]: one for one in recordings()}
    hearings = [
        Hearing(
            row["id"],
            row["source"],
            row["rung"],
            row["group"],
            Transcript.model_validate(row["heard"]),
            known[row["id"]].menu,
            known[row["id"]].gold["cart"]["lines"],
        )
        for row in kept(heard).values()
    ]
    if human is not None and calibration is not None:
        hearings += calibration_hearings(calibration, human, key)
    return [judge(hearing) for hearing in hearings if hearing.transcript.words]


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
    # Of a second hearing nothing is said, since its words were asked for.
    asked = np.array(
        [lb.right is not None and one.hearing.transcript.first_heard is None for *_, lb, one in rows]
    )
    signs = [SIGNS[name] for name in FEATURES]
    found = cross_validated(x, y, [one.hearing.group for *_, one in rows], signs, asked)
    intercept, weights = fit(x[asked], y[asked], signs)
    labelled = [
        (label, one, float(p)) for (_, _, label, one), p, ask in zip(rows, found, asked, strict=True) if ask
    ]
    plain = [row for row in labelled if row[1].plain]
    row = {
        "intercept": round(intercept, 4),
        "weights": {name: round(float(w), 4) for name, w in zip(FEATURES, weights, strict=True)},
        "fields": len(labelled),
        "wrong": sum(not label.right for label, *_ in labelled),
        "cross_validated": {"all": _quality(labelled), "plain": _quality(plain)},
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
    """What each threshold on the least sure field would do behind every other doubt and the ASR gate."""
    told = []
    for threshold in (0.0, *THRESHOLDS):
        over = [
            one
            for one, sure in zip(judged, least, strict=True)
            if not one.blocked and one.hearing.transcript.confidence >= gate and sure >= threshold
        ]
        silent = sum(not one.exact for one in over)
        told.append(
            {
                "threshold": threshold,
                "accepted": len(over),
                "accepted_clean": sum(one.hearing.rung == "clean" for one in over),
                "silent": silent,
                "silent_ci": wilson(silent, len(judged)),
            }
        )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--heard", type=Path, required=True)
    parser.add_argument("--human", type=Path, help="folder of real people's orders")
    parser.add_argument("--calibration", type=Path, help="hearings that calibrate_asr.py kept of them")
    parser.add_argument("--write", action="store_true", help="put the table into confidence.json")
    args = parser.parse_args()
    key = listener(1).key("en")
    judged = read(args.heard, args.human, args.calibration, key)
    kinds, sure = {}, dict[Place, float]()
    for kind in KINDS:
        kinds[kind], found = fit_kind(judged, kind)
        sure |= found
        print(kind, json.dumps(kinds[kind]))
    least = [min((sure[at, n] for n in range(len(one.labels))), default=0.0) for at, one in enumerate(judged)]
    told = curve(judged, least, settings().asr_threshold)
    print(*told, sep="\n")
    other = [(s, j) for s, j in zip(least, judged, strict=True) if not j.blocked]
    exact = [j.exact for _, j in other]
    asr = [j.hearing.transcript.confidence for _, j in other]
    orders = {
        "without_other_doubt": len(other),
        "wrong": exact.count(False),
        "auroc_least_field": auroc([s for s, _ in other], exact),
        "auroc_asr": auroc(asr, exact),
    }
    hearings = Counter(f"{j.hearing.source} {j.hearing.rung}" for j in judged)
    print(orders, hearings, sep="\n")
    if args.write:
        document = json.loads(TABLES.read_text())
        document["tables"][key] = {
            "date": datetime.now(UTC).date().isoformat(),
            "data": "tuned golden recordings and real people's orders, hearings by source and rung",
            "hearings": dict(hearings),
            "folds": FOLDS,
            "features": list(FEATURES),
            "kinds": kinds,
            "orders": orders,
            "triage": told,
        }
        TABLES.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
