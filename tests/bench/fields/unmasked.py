"""Would the language model's own probability of a field tell right from wrong? Measured, not shipped.

    python -m tests.bench.fields.unmasked --heard heard.jsonl --human DIR --calibration heard-NAME.jsonl \\
        --url http://127.0.0.1:8080 --out drafts.jsonl

Each hearing whose words leave something open is decoded under its mask by the server at URL (llama.cpp, the
model of `SAYCART_LLM_MODEL`), with the probability that the model held each value at before the mask; of the
others nothing was left to a model. What is in OUT already is not decoded again.

Then, for values that the mask left open: how well does that probability by itself tell the right ones
(AUROC), and does a regression of `fit.py`'s features gain by it as one more, cross-validated in the same
folds?
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from infra.settings import settings
from schemas.cart import CartDraft, ItemLine
from schemas.errors import SaycartError
from schemas.evidence import Evidence
from services.checks.confidence import FEATURES, features
from services.checks.traces import KINDS
from services.engines.decoding.decoder import OpenAIDecoder
from services.evaluation.score import right_fields
from services.evaluation.statistics import auroc
from services.reading.order import read_order
from tests.bench.fields.fit import SIGNS, read
from tests.bench.fields.hear import listener
from tests.bench.fields.labels import Hearing
from tests.bench.fields.logistic import Array, cross_validated

_LEAST = 1e-4  # a probability is kept this far from 0 and 1, where a logit has no end
# A row: kind, features, the model's logit (0 where nothing was left to it), right, group.
Row = tuple[str, tuple[float, ...], float, bool, str]


def own_probabilities(draft: CartDraft, scored: Mapping[str, float]) -> list[dict[str, float]]:
    """For each line the model's probability of each value by the field's name, from JSON pointers into the
    wire cart; an option's is that of its id, amount and count together."""
    found: list[dict[str, float]] = []
    for at, line in enumerate(draft.lines):
        of: dict[str, float] = {}
        for field in ("sku", "quantity", "size"):
            if (p := scored.get(f"/lines/{at}/{field}")) is not None:
                of[field] = p
        for n, option in enumerate(line.options if isinstance(line, ItemLine) else ()):
            parts = (scored.get(f"/lines/{at}/options/{n}/{part}", 1.0) for part in ("id", "amount", "count"))
            of[f"options/{option.group}/{option.id}"] = math.prod(parts)
        found.append(of)
    return found


def decode(
    hearings: list[tuple[str, Hearing]], decoder: OpenAIDecoder, out: Path
) -> dict[str, dict[str, Any]]:
    """The draft and scores of each hearing, by its key."""
    known: dict[str, dict[str, Any]] = {}
    if out.exists():
        known = {row["key"]: row for row in map(json.loads, out.read_text().splitlines())}
    with out.open("a") as kept:
        for key, hearing in hearings:
            evidence = read_order(hearing.transcript.text, hearing.menu, 1)
            if key in known or evidence.plain:
                continue
            try:
                decoded = decoder.decode(evidence)
            except SaycartError as error:
                print(key, error)
                continue
            probability = decoded.scored.probability if decoded.scored else {}
            row = {"key": key, "draft": decoded.draft.model_dump(mode="json"), "probability": probability}
            known[key] = row
            kept.write(json.dumps(row) + "\n")
            kept.flush()
    return known


def rows_of(
    hearing: Hearing, draft: CartDraft, scored: Mapping[str, float], evidence: Evidence
) -> Iterator[Row]:
    """The labelled fields of a decoded cart."""
    right = right_fields(hearing.gold, [line.model_dump(mode="json") for line in draft.lines])
    own = own_probabilities(draft, scored)
    chosen = FEATURES.index("chosen")
    for at, line in enumerate(features(draft, evidence, hearing.transcript)):
        for field in line:
            label = right[at].get(field.name)
            if label is None:
                continue
            p = own[at].get(field.name) if field.values[chosen] else None
            logit = 0.0 if p is None else _logit(p)
            yield field.kind, field.values, logit, bool(label), hearing.group


def _logit(p: float) -> float:
    p = min(max(p, _LEAST), 1 - _LEAST)
    return math.log(p / (1 - p))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--heard", type=Path, required=True)
    parser.add_argument("--human", type=Path, help="folder of real people's orders")
    parser.add_argument("--calibration", type=Path, help="hearings that calibrate_asr.py kept of them")
    parser.add_argument("--url", required=True, help="a llama.cpp server")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    judged = read(args.heard, args.human, args.calibration, listener(1).key("en"))
    hearings = [(f"{one.hearing.source} {one.hearing.id} {one.hearing.rung}", one.hearing) for one in judged]
    decoder = OpenAIDecoder(args.url, dialect="llama.cpp", model=settings().llm_model, score=True)
    drafts = decode(hearings, decoder, args.out)
    rows: list[Row] = []
    for key, hearing in hearings:
        if key in drafts:
            evidence = read_order(hearing.transcript.text, hearing.menu, 1)
            draft = CartDraft.model_validate(drafts[key]["draft"])
            rows += rows_of(hearing, draft, drafts[key]["probability"], evidence)
    print(f"{len(drafts)} hearings of {len(hearings)} were left open, {len(rows)} labelled fields")
    for kind in KINDS:
        of_kind = [row for row in rows if row[0] == kind and row[1][FEATURES.index("chosen")]]
        right = [row[3] for row in of_kind]
        if kind == "line" or not of_kind or all(right) or not any(right):
            print(kind, {"chosen": len(of_kind), "wrong": right.count(False)})
            continue
        y = np.array(right, dtype=float)
        groups = [row[4] for row in of_kind]
        signs = [SIGNS[name] for name in FEATURES]
        x: Array = np.array([row[1] for row in of_kind])
        wider: Array = np.array([(*row[1], row[2]) for row in of_kind])
        every = np.ones(len(of_kind), dtype=bool)
        without = cross_validated(x, y, groups, signs, every)
        with_model = cross_validated(wider, y, groups, [*signs, 1], every)
        told = {
            "chosen": len(of_kind),
            "wrong": right.count(False),
            "auroc of the model's own": auroc([row[2] for row in of_kind], right),
            "auroc of the features": auroc(list(without), right),
            "auroc of both": auroc(list(with_model), right),
        }
        print(kind, json.dumps(told))


if __name__ == "__main__":
    main()
