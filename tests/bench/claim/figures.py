"""Figures of cells: counts with Wilson intervals, latencies with bootstrap ones, the parts of the gain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

from services.evaluation.statistics import (
    mcnemar,
    paired_interval,
    quantile,
    quantile_interval,
    quantile_ratio,
    wilson,
)
from tests.bench.claim.outcomes import Outcome

Found = dict[str, Any]
Cells = Mapping[str, Sequence[Outcome]]


def share(hits: int, rows: int) -> Found:
    """A count of so many with its interval."""
    return {"hits": hits, "of": rows, "ci": wilson(hits, rows)}


def latency(values: Sequence[float]) -> Found:
    """Median and 95th percentile in seconds, each with its interval."""
    return {
        f"p{int(100 * q)}": {"s": round(quantile(values, q), 3), "ci": quantile_interval(values, q)}
        for q in (0.5, 0.95)
    }


def figures(rows: Sequence[Outcome]) -> Found:
    """One cell, which must not be empty."""
    count = len(rows)
    carts = [row for row in rows if row.failure is None]
    repaired = [row for row in rows if row.repair_s > 0]
    return {
        "orders": count,
        "first_answer_failures": share(sum(row.first_failure is not None for row in rows), count),
        "failures": share(len(rows) - len(carts), count),
        "strict_failures": share(sum(row.strict is not None for row in rows), count),
        "first_kinds": _counted(row.first_failure for row in rows),
        "last_kinds": _counted(row.failure for row in rows),
        "strict_kinds": _counted(row.strict for row in rows if row.failure is None),
        "fenced": sum(row.fenced for row in rows),
        "exact": share(sum(row.exact for row in rows), count),
        "passed": share(sum(row.passed for row in rows), count),
        "silent": share(sum(row.silent for row in rows), count),
        "items": sum(row.items for row in carts),
        "wrong_items": sum(row.wrong for row in carts),
        "unknown_items": sum(row.unknown for row in carts),
        "orders_astray": share(sum(row.astray for row in carts), len(carts)),
        "asked": share(sum(row.asked for row in rows), count),
        "repaired": share(len(repaired), count),
        "repaired_exact": sum(row.exact for row in repaired),
        "repaired_empty": sum(row.failure is None and row.items == 0 for row in repaired),
        "repair_tokens": sum(row.repair_tokens for row in rows),
        "repair_prompt_tokens": sum(row.repair_prompt_tokens for row in rows),
        "repair_s": round(sum(row.repair_s for row in rows), 2),
        "calls": round(mean(row.calls for row in rows), 3),
        "tokens": round(mean(row.tokens for row in rows), 1),
        "prompt_tokens": round(mean(row.prompt_tokens for row in rows), 1),
        "cached_tokens": round(mean(row.cached_tokens for row in rows), 1),
        "total": latency([row.total_s for row in rows]),
        "heard": latency([row.heard_s for row in rows]),
        "after_hearing": latency([row.rest_s for row in rows]),
    }


def _counted(kinds: Any) -> dict[str, int]:
    return dict(Counter(kind for kind in kinds if kind is not None).most_common())


def pairs(before: Sequence[Outcome], after: Sequence[Outcome]) -> list[tuple[Outcome, Outcome]]:
    """The orders that both have."""
    other = {row.id: row for row in after}
    return [(row, other[row.id]) for row in before if row.id in other]


def compared(before: Sequence[Outcome], after: Sequence[Outcome]) -> Found | None:
    """Two cells on the orders that both have: p50 and p95, exact carts, and, of those of
    which both made a cart, items that are not those ordered. None where there is no such order."""
    both = pairs(before, after)
    if not both:
        return None
    carts = [(a, b) for a, b in both if a.failure is None and b.failure is None]
    found: Found = {"orders": len(both)}
    for name, seconds in (("total", _total), ("after_hearing", _rest)):
        old, new = [seconds(a) for a, _ in both], [seconds(b) for _, b in both]
        for q in (0.5, 0.95):
            ratio, interval = quantile_ratio(old, new, q)
            found[f"{name}_p{int(100 * q)}"] = {
                "before": round(quantile(old, q), 3),
                "after": round(quantile(new, q), 3),
                "ratio": ratio,
                "ci": interval,
            }
    found["exact"] = _changed([(a.exact, b.exact) for a, b in both])
    found["wrong_items"] = _changed([(a.astray, b.astray) for a, b in carts])
    return found


def _changed(marks: list[tuple[bool, bool]]) -> Found:
    before, after = [a for a, _ in marks], [b for _, b in marks]
    gone, come = sum(a and not b for a, b in marks), sum(b and not a for a, b in marks)
    return {
        "of": len(marks),
        "before": sum(before),
        "after": sum(after),
        "only_before": gone,
        "only_after": come,
        "p": round(mcnemar(gone, come), 4),
        "difference_ci": paired_interval(before, after),
    }


def _total(row: Outcome) -> float:
    return row.total_s


def _rest(row: Outcome) -> float:
    return row.rest_s


def parts_of_the_gain(cells: Cells) -> Found | None:
    """What the way from the old pipeline to ours saves, step by step, as mean seconds an order over the
    orders that all four cells have; the steps add up to the whole. A step that costs is below 0. None where
    a cell is missing or they share no order.

    repairs: the old pipeline's repairs are not asked. mask: the first answers, bare and masked (the same
    prompt and form). hearing: ours hears some recordings again, and by a second recogniser. form: our prompt,
    cart, evidence and checks in place of the claim's, every order asked and decoded whole. settled: orders
    whose words leave one cart are not asked. jumped: of the others only the choices are decoded.
    """
    names = ("old", "masked", "ours-whole", "ours")
    if not all(cells.get(name) for name in names):
        return None
    by_id = [{row.id: row for row in cells[name]} for name in names]
    ids = [order for order in by_id[0] if all(order in rows for rows in by_id)]
    if not ids:
        return None
    old, masked, whole, ours = ([rows[order] for order in ids] for rows in by_id)

    def saved(seconds: Callable[[int], float]) -> float:
        return mean(seconds(i) for i in range(len(ids)))

    steps = {
        "repairs": saved(lambda i: old[i].repair_s),
        "mask": saved(lambda i: old[i].first_s - masked[i].total_s),
        "hearing": saved(lambda i: masked[i].heard_s - ours[i].heard_s),
        "form": saved(lambda i: masked[i].rest_s - whole[i].rest_s),
        "settled": saved(lambda i: 0.0 if ours[i].asked else whole[i].rest_s - ours[i].rest_s),
        "jumped": saved(lambda i: whole[i].rest_s - ours[i].rest_s if ours[i].asked else 0.0),
    }
    gain = saved(lambda i: old[i].total_s - ours[i].total_s)
    return {
        "orders": len(ids),
        "mean_s": {
            "old": round(saved(lambda i: old[i].total_s), 3),
            "ours": round(saved(lambda i: ours[i].total_s), 3),
        },
        "saved_s": round(gain, 3),
        "steps": {name: round(value, 3) for name, value in steps.items()},
        "shares": {n: round(s / gain, 3) for n, s in steps.items()} if gain > 0 else None,
        "p95_s": {
            "old": round(quantile([row.total_s for row in old], 0.95), 3),
            "old without repairs": round(quantile([row.first_s for row in old], 0.95), 3),
            "masked": round(quantile([row.total_s for row in masked], 0.95), 3),
            "ours, all asked and whole": round(quantile([row.total_s for row in whole], 0.95), 3),
            "ours": round(quantile([row.total_s for row in ours], 0.95), 3),
        },
    }
