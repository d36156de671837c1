"""Which figures are drawn, and how: each function takes figures and gives one SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.learning.evaluation.plots import Plot, percent_ticks

# Of the project: at most 1% silent errors with at most 20% sent to review.
GOAL_RISK, GOAL_COVERAGE = 0.01, 0.8
_QUARTERS = [(i / 4, f"{i / 4:.0%}") for i in range(5)]
_FIFTHS = [(i / 5, f"{i / 5:.1f}") for i in range(6)]


def risk_chart(risk: Mapping[str, Any]) -> str:
    """Risk over coverage of a run, by ASR confidence and, where known, by the least sure line; what a perfect
    order would reach; marks for triage and for the gate on ASR confidence."""
    highest = max(point[1] for point in risk["by_confidence"])
    plot = Plot(
        "Silent errors over the share of orders accepted without a look",
        ("accepted without a look", _QUARTERS),
        ("silent errors, of all orders", percent_ticks(max(highest, 0.04))),
    )
    plot.area((GOAL_COVERAGE, 0.0), (1.0, GOAL_RISK), "goal")
    plot.line([(0.0, 0.0), (1 - highest, 0.0), (1.0, highest)], "perfect")
    if "by_least_sure_line" in risk:
        plot.line([(x, y) for x, y, _ in risk["by_least_sure_line"]], "second")
    plot.line([(x, y) for x, y, _ in risk["by_confidence"]], "first")
    gate, triage = risk["gate"], risk["triage"]
    for shape, label, at in (
        (plot.diamond, f"confidence of {gate['threshold']} or more", gate),
        (plot.dot, "triage", triage),
    ):
        where = f"{at['coverage']:.1%} accepted, {at['risk']:.1%} silent errors"
        shape((at["coverage"], at["risk"]), "first", f"{label}: {where}")
    return plot.svg()


def reliability_chart(kind: str, calibration: Mapping[str, Any]) -> str:
    """Share right over confidence, a dot a bin with its 95% interval and its number of rows."""
    plot = Plot(
        f"Reliability of the {kind} confidence", ("confidence", _FIFTHS), (f"{kind} right, share", _FIFTHS)
    )
    plot.line([(0.0, 0.0), (1.0, 1.0)], "perfect")
    for found in calibration["bins"]:
        at, right = found["confidence"], found["right"]
        low, high = found["right_ci"]
        plot.whisker(at, low, high, "first")
        plot.dot((at, right), "first", f"{found['rows']} at {at:.2f}: {right:.0%} right")
        plot.note((at, high), str(found["rows"]))
    return plot.svg()
