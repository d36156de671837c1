"""Which tells right from wrong: the confidence that a model writes, or the probability of what it wrote?

    python -m services.examples.triage.confidence FILE...

FILE is what the runner kept of one task under the mask with `--score`. For each signal the AUROC: how often a
right answer has more of it than a wrong one. 0.5 is a coin, 1 tells them apart without an error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from services.evaluation.statistics import SEED, auroc

DRAWS = 2_000
DECIDED = ("category", "priority", "needs_human")

Answer = dict[str, Any]
Signal = Callable[[Answer], float]


def stated(answer: Answer) -> float:
    """The confidence field, 0 to 1."""
    return float(answer["value"]["confidence"])


def of_field(name: str) -> Signal:
    """The unmasked probability of one field's value, 0 to 1."""
    return lambda answer: float(answer["probability"][f"/{name}"])


def of_all(answer: Answer) -> float:
    """The unmasked probability of the three decisions, given whatever was written between them."""
    return prod(of_field(name)(answer) for name in DECIDED)


@dataclass(frozen=True, slots=True)
class Worth:
    """One signal for one mark over `rows` answers, of which `right` have the mark. AUROCs are None, and the
    interval of the difference 0 to 0, where all are right or all wrong. `ahead` is the 95% interval of
    probability's AUROC less the stated one's."""

    mark: str
    rows: int
    right: int
    stated: float | None
    probability: float | None
    ahead: tuple[float, float]
    values: int
    """How many different confidences were written."""


def worth(answers: Sequence[Answer], mark: str, signal: Signal) -> Worth:
    """`signal` beside the stated confidence, for `mark`, without answers that failed or were not scored."""
    rows = [one for one in answers if not one["failure"] and one["probability"]]
    right = [bool(one["marks"][mark]) for one in rows]
    said, held = [stated(one) for one in rows], [signal(one) for one in rows]
    return Worth(
        mark,
        len(rows),
        sum(right),
        auroc(said, right),
        auroc(held, right),
        ahead(held, said, right),
        len(set(said)),
    )


def ahead(one: Sequence[float], other: Sequence[float], right: Sequence[bool]) -> tuple[float, float]:
    """The 95% interval of the AUROC of `one` less that of `other`, on the same rows: a bootstrap of right and
    wrong ones apart, with a fixed seed."""
    good, bad = np.flatnonzero(right), np.flatnonzero(~np.array(right, dtype=bool))
    if not len(good) or not len(bad):
        return 0.0, 0.0
    wins = _wins(one, good, bad) - _wins(other, good, bad)
    random = np.random.default_rng(SEED)
    drawn = [
        wins[np.ix_(random.integers(0, len(good), len(good)), random.integers(0, len(bad), len(bad)))].mean()
        for _ in range(DRAWS)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return round(float(low), 3), round(float(high), 3)


def _wins(signal: Sequence[float], good: Any, bad: Any) -> Any:
    """Shape (good, bad): 1 where the right one has more, 0.5 where they tie."""
    values = np.array(signal)
    gap = np.sign(values[good][:, None] - values[bad][None, :])
    return (gap + 1) / 2


def main(files: Sequence[str]) -> int:
    """Prints a row for each file and mark."""
    print("| answers | mark | right | stated | probability | difference, 95% | confidences written |")
    print("|---|---|---|---|---|---|---|")
    for file in files:
        kept = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
        for mark, signal in (*((name, of_field(name)) for name in DECIDED), ("right", of_all)):
            found = worth(kept, mark, signal)
            print(
                f"| {Path(file).stem} | {mark} | {found.right}/{found.rows} | {found.stated} | "
                f"{found.probability} | {found.ahead[0]} to {found.ahead[1]} | {found.values} |"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
