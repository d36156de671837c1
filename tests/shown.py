"""Query Prometheus text: `shown(text)("saycart_orders", state="completed")`."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

Shown = Callable[..., float]


def shown(text: str) -> Shown:
    """Parse the text; return a function that sums the samples of a name with given labels."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def total(name: str, **labels: str) -> float:
        return sum(
            sample.value
            for sample in samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    return total


def shown_by(registry: CollectorRegistry) -> Shown:
    """`shown` for a registry of this process."""
    return shown(generate_latest(registry).decode())


def names_in(text: str) -> set[str]:
    """Every name of these metrics that an alert rule may use, including metrics without samples."""
    endings = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",), "gauge": ("",)}
    return {
        family.name + ending
        for family in text_string_to_metric_families(text)
        for ending in endings[family.type]
    }


def labels_in(text: str) -> dict[str, set[str]]:
    """Labels by name, for names with samples."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found
