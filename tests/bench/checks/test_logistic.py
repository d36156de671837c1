"""The fit behind the field table: it finds what made the labels, and minds its signs and its folds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bench.fields.logistic import cross_validated, fit, fold, predict

RNG = np.random.default_rng(7)


def drawn(weights: list[float], intercept: float, rows: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    x = RNG.normal(size=(rows, len(weights)))
    chance = 1 / (1 + np.exp(-(intercept + x @ np.array(weights))))
    return x, (RNG.random(rows) < chance).astype(float)


def test_the_weights_that_made_the_labels_are_found() -> None:
    x, y = drawn([1.5, -0.7], 0.4)
    intercept, weights = fit(x, y, [1, -1])
    assert intercept == pytest.approx(0.4, abs=0.08)
    assert weights == pytest.approx([1.5, -0.7], abs=0.08)
    assert predict(intercept, weights, x).mean() == pytest.approx(y.mean(), abs=0.001)


def test_a_feature_that_counts_the_wrong_way_is_left_out() -> None:
    x, y = drawn([1.5, 0.7], 0.0)
    assert fit(x, y, [1, -1])[1][1] == 0
    assert fit(x, y, [1, 0])[1][1] > 0.5


def test_a_feature_that_never_changes_has_no_weight() -> None:
    x, y = drawn([1.0, 0.0], 0.0)
    x[:, 1] = 3.0
    assert fit(x, y, [1, 1])[1][1] == 0


def test_a_fold_is_judged_without_itself() -> None:
    """One fold says the opposite of all others; judged by them, it is wrong throughout."""
    groups = [str(n % 40) for n in range(4000)]
    inside = np.array([fold(group) == fold("0") for group in groups])
    assert 0 < inside.mean() < 0.5
    y = np.array([float(int(group) % 3 == 0) for group in groups])
    x = np.where(inside, 1 - y, y)[:, None]
    found = cross_validated(x, y, groups, [1], np.ones(len(y), bool))
    assert np.all((found[inside] > 0.5) != (y[inside] > 0.5))
    assert np.all((found[~inside] > 0.5) == (y[~inside] > 0.5))
