"""The confidence of a field: how likely one value of a finished cart is right, from how it was heard.

`confidence.json` holds, for each recogniser (model, precision, options, language: the key of the ASR table
too), a logistic regression for each kind of field, fitted and cross-validated by `tests/bench/fields` on
hearings whose right cart is known. A weight multiplies a feature:

    mean, least   logit of the mean and of the lowest probability of the field's words
    worst         logit of the mean probability of the three least sure words of the whole recording
    inexact       how far the words are from the name: 0 as written, to 1
    guessed       the words make no sense, and the name was guessed at
    unsaid        a default that nobody said
    chosen        the mask left the value to the model
    doubt         something about the order is open, whatever it is

Where a second recogniser came to the same order, no field is less sure than the order as a whole.

A recogniser that was measured in another language alone is held to that table, which is better than to none.
A transcript without word probabilities (an order that came as text), one from a second hearing (its words
were asked for), and a recogniser without any table give no field confidences.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from schemas.cart import CartDraft
from schemas.evidence import Evidence
from schemas.transcript import Transcript
from services.checks.traces import Kind, Trace, traces

TABLES = Path(__file__).with_name("confidence.json")
FEATURES = ("mean", "least", "worst", "inexact", "guessed", "unsaid", "chosen", "doubt")
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


def field_confidences(
    draft: CartDraft, evidence: Evidence, transcript: Transcript, *, borne_out: bool = False
) -> list[dict[str, float]]:
    """For each line the confidence (0..1) of each field by its name; empty where nothing can be told. With
    `borne_out`, a second recogniser's words came to the same cart, though not by the rules alone."""
    known = _models_for(transcript.recogniser)
    if known is None or transcript.first_heard is not None:
        return [{} for _ in draft.lines]
    least = transcript.confidence if transcript.agreed else 0.0
    if transcript.agreed or borne_out:
        least = max(least, transcript.agreement or 0.0)
    return [
        {name: round(max(least, probability(known[kind], values)), 4) for kind, name, values in line}
        for line in features(draft, evidence, transcript)
    ]


def least_sure(draft: CartDraft, evidence: Evidence, transcript: Transcript) -> float | None:
    """The confidence (0..1) of the field of a cart that is the least sure; None where none can be told."""
    lines = field_confidences(draft, evidence, transcript)
    return min((sure for line in lines for sure in line.values()), default=None)


def probability(model: Model, values: Sequence[float]) -> float:
    """The logistic function of the weighted features."""
    total = model.intercept + sum(w * v for w, v in zip(model.weights, values, strict=True))
    return 1 / (1 + math.exp(-total))


def features(draft: CartDraft, evidence: Evidence, transcript: Transcript) -> list[list[Features]]:
    """Features of every field of every line; none where the words have no probabilities."""
    words = list(_words(transcript))
    # Offsets hold for the cleaned text only.
    if not words or " ".join(word.text for word in transcript.words) != evidence.transcript:
        return [[] for _ in draft.lines]
    worst = _logit(_mean(sorted(p for *_, p in words)[:_WORST]))
    return [
        [Features(t.kind, t.name, _values(t, words, worst, evidence)) for t in line]
        for line in traces(draft, evidence)
    ]


def _values(
    trace: Trace, words: Sequence[tuple[int, int, float]], worst: float, evidence: Evidence
) -> tuple[float, ...]:
    its = [p for start, end, p in words if any(start < high and low < end for low, high in trace.spans)]
    its = its or [p for *_, p in words]
    return (
        _logit(_mean(its)),
        _logit(min(its)),
        worst,
        1 - trace.score,
        float(trace.guessed),
        float(trace.unsaid),
        float(trace.chosen),
        float(not evidence.plain),
    )


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
