"""A verdict on each number of the claim, in plain words, from the figures of one setting."""

from __future__ import annotations

from typing import Any, NamedTuple

from services.evaluation.statistics import wilson
from tests.bench.claim.nines import needed, upper_bound

FAILED, LEFT = 0.068, 0.0004
P95_BEFORE, P95_AFTER = 3.8, 2.2
LEAST_FOR_P95 = 20
Found = dict[str, Any]


class Verdict(NamedTuple):
    """One number of the claim, what was seen, and whether that is the same."""

    claimed: str
    seen: str
    verdict: str


def percent(value: float, places: int = 1) -> str:
    return f"{100 * value:.{places}f}%"


def span(ci: tuple[float, float] | list[float], places: int = 1) -> str:
    return f"{percent(ci[0], places)} to {percent(ci[1], places)}"


def of_share(claimed: float, hits: int, rows: int) -> str:
    """Whether a share that was seen can be the claimed one."""
    low, high = wilson(hits, rows)
    if low <= claimed <= high:
        return "fits"
    return "more here" if low > claimed else "less here"


def of_rest(claimed: float, hits: int, rows: int) -> str:
    """Whether so small a share is shown: only many orders without a failure can."""
    if hits:
        return of_share(claimed, hits, rows)
    bound = upper_bound(rows)
    if bound <= claimed:
        return "confirmed"
    return f"not shown: none of {rows} allows up to {percent(bound)}; {needed(claimed):,} are needed"


def of_ratio(claimed: float, ratio: Found, orders: int) -> str:
    """Whether ours takes that share of the old pipeline's p95, on so many orders."""
    if orders < LEAST_FOR_P95:
        return f"not shown: of {orders} orders p95 is the slowest one"
    low, high = ratio["ci"]
    if low > 1:
        return "refuted here: ours is slower"
    if high >= 1:
        return "not shown: the interval holds both faster and slower"
    if low <= claimed <= high:
        return "fits"
    return "confirmed, by more" if high < claimed else "faster, by less than claimed"


def of_wrong(change: Found) -> str:
    """Whether the share of wrong items stayed as it was."""
    if not change["of"]:
        return "no order of which both made a cart"
    if change["p"] < 0.05:
        return "fewer" if change["only_before"] > change["only_after"] else "more"
    return f"not told from no change (p = {change['p']:.2f})"


def verdicts(cells: dict[str, Found], against: dict[str, Found], ours: str = "ours") -> list[Verdict]:
    """The table of one setting. `cells` are figures by method, `against` the old pipeline compared with each;
    what was not run is left out."""
    found: list[Verdict] = []
    old = cells.get("old")
    if old:
        first = old["first_answer_failures"]
        found.append(
            Verdict(
                f"{percent(FAILED)} fail validation",
                f"{first['hits']} of {first['of']} first answers ({span(first['ci'])})",
                of_share(FAILED, first["hits"], first["of"]),
            )
        )
        strict = old["strict_failures"]
        seen = f"{strict['hits']} of {strict['of']} after repairs ({span(strict['ci'])})"
        found.append(
            Verdict("the same, as strictly as ours", seen, of_share(FAILED, strict["hits"], strict["of"]))
        )
    for name in ("masked", ours):
        if name in cells:
            left = cells[name]["failures"]
            seen = f"{left['hits']} of {left['of']} ({span(left['ci'])})"
            verdict = of_rest(LEFT, left["hits"], left["of"])
            found.append(Verdict(f"{percent(LEFT, 2)} are left ({name})", seen, verdict))
    if ours in against:
        ratio = against[ours]["total_p95"]
        found.append(
            Verdict(
                f"p95 {P95_BEFORE} s to {P95_AFTER} s (× {P95_AFTER / P95_BEFORE:.2f})",
                f"{ratio['before']:.1f} s to {ratio['after']:.1f} s (× {ratio['ratio']:.2f}, "
                f"{ratio['ci'][0]:.2f} to {ratio['ci'][1]:.2f})",
                of_ratio(P95_AFTER / P95_BEFORE, ratio, against[ours]["orders"]),
            )
        )
    if old:
        tokens, asked = old["repair_tokens"], old["repaired"]
        seen = (
            f"{tokens} tokens and {old['repair_s']:.1f} s on {asked['hits']} of {asked['of']} orders before "
            f"(of these {old['repaired_exact']} then exact, {old['repaired_empty']} empty), none after"
        )
        found.append(
            Verdict("no repair tokens", seen, "confirmed" if tokens else "there was nothing to repair")
        )
    for name, says in (("masked", "item outside the mask"), ("masked-item", "item inside"), (ours, "ours")):
        if name in against:
            change = against[name]["wrong_items"]
            seen = (
                f"other items than ordered: {change['before']} to {change['after']} of {change['of']} carts"
            )
            found.append(Verdict(f"wrong items unchanged ({says})", seen, of_wrong(change)))
    return found
