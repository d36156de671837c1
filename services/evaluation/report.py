"""What a run of rows comes to: figures as JSON, and one HTML page with the worst cases."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from services.evaluation.score import score


@dataclass(slots=True)
class Tally:
    """Figures of one run. A silent error is a wrong cart that was accepted without a look."""

    rows: int = 0
    exact: int = 0
    reviews: int = 0
    silent_errors: int = 0
    equal_lines: int = 0
    gold_lines: int = 0
    predicted_lines: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    ms: dict[str, list[float]] = field(default_factory=dict)
    bad: list[dict[str, Any]] = field(default_factory=list)

    def add(self, gold: dict[str, Any], predicted: dict[str, Any]) -> bool:
        """Count one row; whether its cart is exactly right."""
        scored = score(gold["cart"]["lines"], predicted["cart"]["lines"])
        review = predicted["decision"] == "review"
        self.rows += 1
        self.exact += scored.exact
        self.reviews += review
        self.silent_errors += not scored.exact and not review
        self.equal_lines += scored.equal_lines
        self.gold_lines += scored.gold_lines
        self.predicted_lines += scored.predicted_lines
        self.wrong.update(scored.wrong)
        self.reasons.update(f["code"] for f in predicted["findings"] if f["severity"] == "blocking")
        for stage, value in predicted["ms"].items():
            self.ms.setdefault(stage, []).append(value)
        if not scored.exact:
            self.bad.append({"gold": gold, "predicted": predicted, "silent": not review})
        return scored.exact

    def figures(self) -> dict[str, Any]:
        """The figures as plain values; shares are of all rows, times in milliseconds."""
        rows = max(self.rows, 1)
        return {
            "rows": self.rows,
            "exact_carts": self.exact,
            "exact_share": round(self.exact / rows, 4),
            "review_share": round(self.reviews / rows, 4),
            "silent_errors": self.silent_errors,
            "silent_share": round(self.silent_errors / rows, 4),
            "line_precision": round(self.equal_lines / max(self.predicted_lines, 1), 4),
            "line_recall": round(self.equal_lines / max(self.gold_lines, 1), 4),
            "wrong_fields": dict(self.wrong.most_common()),
            "blocking_findings": dict(self.reasons.most_common()),
            "ms": {stage: _quantiles(values) for stage, values in self.ms.items()},
        }


def write_report(folder: Path, tally: Tally, about: dict[str, Any]) -> Path:
    """`figures.json` and `index.html` in `folder`; the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = tally.figures()
    (folder / "figures.json").write_text(json.dumps({"about": about, **figures}, indent=2) + "\n")
    page = folder / "index.html"
    page.write_text(_page(figures, tally.bad, about))
    return page


def _quantiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": ordered[len(ordered) // 2],
        "p95": ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
    }


def _page(figures: dict[str, Any], bad: list[dict[str, Any]], about: dict[str, Any]) -> str:
    cells = "".join(
        f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{escape(json.dumps(value))}</td></tr>"
        for name, value in {**about, **figures}.items()
    )
    cases = "".join(_case(case) for case in sorted(bad, key=lambda c: not c["silent"]))
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>saycart evaluation</title>
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}}
table{{border-collapse:collapse}}th,td{{text-align:left;padding:.3rem .8rem;border-bottom:1px solid #ddd;
vertical-align:top}}code{{font-size:13px}}.silent{{background:#fde8e8}}</style>
<h1>saycart evaluation</h1><table>{cells}</table>
<h2>Wrong carts ({len(bad)}; those that nobody would have looked at first)</h2>
<table><tr><th>id</th><th>heard</th><th>gold</th><th>predicted</th><th>decision</th></tr>{cases}</table></html>
"""


def _case(case: dict[str, Any]) -> str:
    gold, predicted = case["gold"], case["predicted"]
    lines = (gold["cart"]["lines"], predicted["cart"]["lines"])
    shown = "".join(f"<td><code>{escape(json.dumps(cart))}</code></td>" for cart in lines)
    mark = ' class="silent"' if case["silent"] else ""
    return (
        f"<tr{mark}><td>{escape(gold['id'])}</td><td>{escape(predicted['transcript'])}</td>{shown}"
        f"<td>{escape(predicted['decision'])}</td></tr>"
    )
