"""What the issue asks for, judged: of each part of a scenario, and of all of its parts together."""

from __future__ import annotations

from collections import Counter
from typing import Any

from services.cli.commands.replay import MACHINE_REASONS

BY_POINT, FEWEST = "kills by point", "fewest kills at a point"
DRAIN_S, RECOVER_S, EXTRA_PERCENT = 120.0, 60.0, 5.0
_COUNTED = {"faults", "restarts", "ended", BY_POINT}
_KILLS = ("kill api", "kill worker", "kill sweeper")


def misses(entry: dict[str, Any]) -> list[str]:
    """Which targets this result misses, of those that each part must meet."""
    figures = entry["figures"]
    missed = [
        f"{figures[name]} {name}"
        for name in ("lost", "doubled", "broken histories", "refused", "phantom orders")
        if figures.get(name)
    ]
    if "ended" in figures and entry["scenario"] != "engines" and not mostly_completed(figures):
        missed.append(f"ended: {figures['ended']}")
    if figures.get("errors seen by clients") or figures.get("restarts that failed"):
        missed.append(f"{figures['errors seen by clients']} errors seen by clients")
    if entry["scenario"] == "chaos":
        if not within(figures["drained s"], DRAIN_S):
            missed.append(f"drained after {figures['drained s']} s")
        if figures["extra runs %"] >= EXTRA_PERCENT:
            missed.append(f"{figures['extra runs %']} % extra runs")
    doubts = figures.get("reasons of review", {})
    if by_machine := sum(doubts.get(reason.value, 0) for reason in MACHINE_REASONS):
        missed.append(f"{by_machine} orders went to a human for want of an engine")
    recovered = "a new order completed after s"
    if recovered in figures and not within(figures[recovered], RECOVER_S):
        missed.append(f"recovered after {figures[recovered]} s")
    if entry["scenario"] == "sigstop" and figures["overtaken while asleep"] < figures["rounds"]:
        missed.append(f"{figures['overtaken while asleep']} of {figures['rounds']} orders were overtaken")
    return missed


def misses_of_all(parts: list[dict[str, Any]]) -> list[str]:
    """Which targets a scenario on one database misses, over all of its parts."""
    missed = [what for part in parts for what in misses(part)]
    # The last part knows best how it was run and how many there are: a series may be lengthened.
    last = parts[-1]
    share = last["scale"] if last["form"] == "long" else 0.0
    amounts = _amounts(last["scenario"], together([part["figures"] for part in parts]))
    for name, (seen, asked) in amounts.items():
        if seen < (enough := max(1, int(asked * share))):
            missed.append(f"{seen} {name}, {enough} are asked for")
    if (open_ := last["parts"] - len(parts)) > 0:
        missed.append(f"parts not run: {open_}")
    return missed


def _amounts(scenario: str, figures: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """How much of something was done in all, and how much the long form is asked for."""
    if scenario == "boundaries":
        return {"kills at some point": (figures[FEWEST], 50)}
    if scenario == "restarts":
        return {"restarts of some part": (min(figures["restarts"].values(), default=0), 50)}
    if scenario == "chaos":
        faults = figures["faults"]
        kills = sum(number for kind, number in faults.items() if kind.startswith(_KILLS))
        return {
            "orders": (figures["accepted"], 10_000),
            "kills of API, workers and sweepers": (kills, 200),
            "kills of Redis": (faults.get("kill redis", 0), 20),
            "flushes": (faults.get("flush Redis", 0), 5),
        }
    return {}


def together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of several parts as one: numbers of things added up, times the longest, shares anew."""
    if len(parts) == 1:
        return parts[0]
    sums: dict[str, Any] = {}
    for name, value in parts[0].items():
        if not all(name in part for part in parts):
            continue  # what only some of them noted has no sum
        values = [part[name] for part in parts]
        if isinstance(value, dict):
            sums[name] = sum((Counter(v) for v in values), Counter[str]()) if name in _COUNTED else value
        elif isinstance(value, list):
            sums[name] = [said for one in values for said in one]
        elif name.endswith(" s"):
            sums[name] = None if None in values else max(values)
        else:
            sums[name] = sum(values)
    if "extra runs" in sums:
        sums["extra runs %"] = round(100 * sums["extra runs"] / (sums["stage runs"] - sums["extra runs"]), 2)
    if FEWEST in sums:
        sums[FEWEST] = fewest_kills(parts)
    return sums


def fewest_kills(parts: list[dict[str, Any]]) -> int:
    """Kills that each point had at least. Where a part did not note them by point, its poorest point stands
    for all."""
    noted = [Counter(part[BY_POINT]) for part in parts if BY_POINT in part]
    least = sum(part[FEWEST] for part in parts if BY_POINT not in part)
    summed: Counter[str] = sum(noted, Counter())
    return least + min((summed[point] for kills in noted for point in kills), default=0)


def mostly_completed(figures: dict[str, Any]) -> bool:
    """A worker that dies again and again over one order leads it to a human; that must be rare."""
    return bool(figures["ended"].get("completed", 0) >= 0.95 * figures["accepted"])


def within(seconds: float | None, limit: float) -> bool:
    return seconds is not None and seconds <= limit
