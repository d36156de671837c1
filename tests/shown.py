"""Prometheus text as something to ask: `shown(text)("saycart_orders", state="completed")`."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

Shown = Callable[..., float]


def shown(text: str) -> Shown:
    """Reads the text, and gives what sums the samples of one name that have these labels; 0 without any."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def total(name: str, **labels: str) -> float:
        return sum(
            sample.value
            for sample in samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    return total


def shown_by(registry: CollectorRegistry) -> Shown:
    """As `shown`, of a registry of this process."""
    return shown(generate_latest(registry).decode())


def names_in(text: str) -> set[str]:
    """Every name that a rule may use of what this text shows, also where a metric has no sample yet."""
    endings = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",), "gauge": ("",)}
    return {
        family.name + ending
        for family in text_string_to_metric_families(text)
        for ending in endings[family.type]
    }


def labels_in(text: str) -> dict[str, set[str]]:
    """The labels of each name that has a sample."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found
