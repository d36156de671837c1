"""What a run has to meet: nothing lost or doubled, soon well again, and in the long form enough faults."""

from __future__ import annotations

from typing import Any

from services.cli.commands.replay import MACHINE_REASONS

FEWEST = "fewest kills at a point"
DRAIN_S, RECOVER_S, EXTRA_PERCENT = 120.0, 60.0, 5.0
_KILLS = ("kill api", "kill worker", "kill sweeper")


def misses(entry: dict[str, Any]) -> list[str]:
    """Which targets this result misses."""
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
    if entry["form"] == "long":
        for name, (seen, asked) in _amounts(entry["scenario"], figures).items():
            if seen < asked:
                missed.append(f"{seen} {name}, {asked} are asked for")
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


def mostly_completed(figures: dict[str, Any]) -> bool:
    """A worker that dies again and again over one order leads it to a human; that must be rare."""
    return bool(figures["ended"].get("completed", 0) >= 0.95 * figures["accepted"])


def within(seconds: float | None, limit: float) -> bool:
    return seconds is not None and seconds <= limit
