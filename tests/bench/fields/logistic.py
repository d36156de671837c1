"""Logistic regression with a ridge, by Newton's method, and its cross-validation by group."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RIDGE = 1.0  # on standardised weights; the intercept is free
STEPS = 50
FOLDS = 10


def fit(x: Array, y: Array, signs: Sequence[int]) -> tuple[float, Array]:
    """Intercept and weights for features `x` (rows, features) and labels `y` (0 or 1).

    `signs` says which way a feature may count: 1 up, -1 down, 0 either way. One that comes out the wrong way
    round is left out (weight 0) and the rest is fitted again: no field may be surer for being heard worse.
    """
    open_ones = [i for i in range(x.shape[1]) if np.ptp(x[:, i]) > 0]
    while True:
        intercept, weights = _newton(x[:, open_ones], y)
        wrong = [(abs(w), i) for w, i in zip(weights, open_ones, strict=True) if signs[i] * w < 0]
        if not wrong:
            full = np.zeros(x.shape[1])
            full[open_ones] = weights
            return intercept, full
        open_ones.remove(max(wrong)[1])


def _newton(x: Array, y: Array) -> tuple[float, Array]:
    mean, scale = x.mean(axis=0), x.std(axis=0)
    z = np.column_stack([np.ones(len(x)), (x - mean) / scale])
    ridge = np.diag([0.0] + [RIDGE] * x.shape[1])
    beta = np.zeros(z.shape[1])
    for _ in range(STEPS):
        p = predict(0.0, beta, z)
        step = np.linalg.solve(
            (z * (p * (1 - p))[:, None]).T @ z + ridge + 1e-9 * np.eye(len(beta)),
            z.T @ (y - p) - ridge @ beta,
        )
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    weights = beta[1:] / scale
    return float(beta[0] - weights @ mean), weights


def predict(intercept: float, weights: Array, x: Array) -> Array:
    """Probabilities (0..1) of rows of features."""
    return np.asarray(1 / (1 + np.exp(-np.clip(intercept + x @ weights, -30, 30))))


def fold(group: str) -> int:
    """The fold of a speaker or row, the same each time."""
    return hashlib.sha256(group.encode()).digest()[0] % FOLDS


def cross_validated(x: Array, y: Array, groups: Sequence[str], signs: Sequence[int], asked: Array) -> Array:
    """For each row of `asked`-marked or other features, what a fit without its fold says of it."""
    folds = np.array([fold(group) for group in groups])
    out = np.full(len(x), np.nan)
    for one in range(FOLDS):
        inside, outside = folds == one, (folds != one) & asked
        if inside.any():
            out[inside] = predict(*fit(x[outside], y[outside], signs), x[inside])
    return out
