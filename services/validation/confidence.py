"""The confidence of a field: how likely one value of a finished cart is right, from how it was heard.

`confidence.json` holds, for each recogniser (model, precision, options, language: the key of the ASR table
too), a logistic regression for each kind of field, fitted and cross-validated by `tests/bench/fields` on
hearings whose right cart is known. A weight multiplies a feature:

    mean, least   logit of the mean and of the lowest probability of the field's words
    worst         logit of the mean probability of the three least sure words of the whole recording
    inexact       how far the words are from the name: 0 as written, to 1
    unsaid        a default that nobody said

Where a second recogniser came to the same order, no field is less sure than the order as a whole.

A recogniser that was measured in another language alone is held to that table, which is better than to none.
A transcript without word probabilities (an order that came as text) and a recogniser without any table give
no field confidences.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from schemas.cart import CartDraft
from schemas.transcript import Transcript
from schemas.writable import clean
from services.retrieval.retrieval import Retrieval
from services.validation.alignment import AlignedLine, Kind, Span, Value, align

TABLES = Path(__file__).with_name("confidence.json")
FEATURES = ("mean", "least", "worst", "inexact", "unsaid")
_WORST = 3
_SURE = 0.01  # probabilities are kept this far from 0 and 1, where a logit has no end


class Model(NamedTuple):
    """One kind's regression; `weights` in the order of `FEATURES`."""

    intercept: float
    weights: tuple[float, ...]


class Features(NamedTuple):
    """One field of one line, and its features in the order of `FEATURES`."""

    kind: Kind
    name: str
    values: tuple[float, ...]


@cache
def models() -> dict[str, dict[str, Model]]:
    """The regressions by recogniser and kind, read once."""
    tables = json.loads(TABLES.read_text(encoding="utf-8"))["tables"]
    return {
        key: {
            kind: Model(float(fit["intercept"]), tuple(float(fit["weights"][name]) for name in FEATURES))
            for kind, fit in table["kinds"].items()
        }
        for key, table in tables.items()
    }


def _models_for(source: str) -> dict[str, Model] | None:
    """Those of a recogniser, if need be of the same one in another language; None where it has none."""
    without_language, slash, _ = source.rpartition("/")
    alike = (known for key, known in models().items() if slash and key.startswith(without_language + slash))
    return models().get(source) or next(alike, None)


def field_confidences(draft: CartDraft, found: Retrieval, transcript: Transcript) -> list[dict[str, float]]:
    """For each line the confidence (0..1) of each field by its name; empty where nothing can be told. `found`
    is what retrieval found in the transcript."""
    known = _models_for(transcript.recogniser)
    if known is None:
        return [{} for _ in draft.lines]
    least = max(transcript.confidence, transcript.agreement or 0.0) if transcript.agreed else 0.0
    return [
        {name: round(max(least, probability(known[kind], values)), 4) for kind, name, values in line}
        for line in features(draft, found, transcript)
    ]


def probability(model: Model, values: Sequence[float]) -> float:
    """The logistic function of the weighted features."""
    total = model.intercept + sum(w * v for w, v in zip(model.weights, values, strict=True))
    return 1 / (1 + math.exp(-total))


def features(draft: CartDraft, found: Retrieval, transcript: Transcript) -> list[list[Features]]:
    """Features of every field of every line; none where the words have no probabilities."""
    words = list(_words(transcript))
    # Offsets hold for the cleaned text only.
    if not words or " ".join(word.text for word in transcript.words) != clean(transcript.text):
        return [[] for _ in draft.lines]
    worst = _logit(_mean(sorted(p for *_, p in words)[:_WORST]))
    lines = align([line.model_dump(mode="json") for line in draft.lines], found)
    return [
        [_of_value(value, line.span, words, worst) for value in _values(line)] if line else []
        for line in lines
    ]


def _values(line: AlignedLine) -> list[Value]:
    """The values of a line, and the line itself, as near to what was said as the furthest of them."""
    whole = Value("line", "heard", line.span, min(value.exact for value in line.values))
    return [*line.values, whole]


def _of_value(value: Value, line: Span, words: Sequence[tuple[int, int, float]], worst: float) -> Features:
    low, high = value.span or line
    its = [p for start, end, p in words if start < high and low < end] or [p for *_, p in words]
    unsaid = float(value.span is None)
    values = (_logit(_mean(its)), _logit(min(its)), worst, 1 - value.exact, unsaid)
    return Features(value.kind, value.name, values)


def _words(transcript: Transcript) -> Iterator[tuple[int, int, float]]:
    """Start, end and probability of each word; words stand one space apart."""
    at = 0
    for word in transcript.words:
        yield at, at + len(word.text), word.probability
        at += len(word.text) + 1


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _logit(probability: float) -> float:
    held = min(max(probability, _SURE), 1 - _SURE)
    return math.log(held / (1 - held))
