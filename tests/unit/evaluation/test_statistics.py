"""Intervals and quantiles, against figures worked out by hand."""

from __future__ import annotations

import pytest

from services.learning.evaluation.figures import quantile, wilson
from tests.gate.compare import paired_interval


@pytest.mark.parametrize(
    ("hits", "rows", "ends"),
    [
        (8, 10, (0.4902, 0.9433)),
        (0, 10, (0.0, 0.2775)),
        (10, 10, (0.7225, 1.0)),
        (50, 100, (0.4038, 0.5962)),
        (0, 0, (0.0, 1.0)),
    ],
)
def test_wilson(hits: int, rows: int, ends: tuple[float, float]) -> None:
    assert wilson(hits, rows) == pytest.approx(ends, abs=1e-4)


def test_the_paired_bootstrap_of_gains_alone_is_binomial() -> None:
    """Five of ten rows gained: a binomial of 10 and a half has its 2.5% and 97.5% points at 2 and 8."""
    before = [True] * 3 + [False] * 7
    after = [True] * 8 + [False] * 2
    assert paired_interval(before, after) == (0.2, 0.8)
    assert paired_interval(after, before) == (-0.8, -0.2)
    assert paired_interval(before, before) == (0.0, 0.0)
    assert paired_interval([], []) == (0.0, 0.0)


def test_quantiles_are_values_that_occurred() -> None:
    assert [quantile([5, 1, 4, 2, 3], share) for share in (0.0, 0.5, 0.95)] == [1, 3, 5]
    assert quantile(range(1, 101), 0.95) == 95
