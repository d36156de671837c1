"""What Helm makes of the chart and some values, read as data."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from infra.settings import REPOSITORY

CHART = REPOSITORY / "infra" / "helm" / "saycart"
VALUES = Path(__file__).parent / "values"
CASES = sorted(file.stem for file in VALUES.glob("*.yaml"))
COMPONENT = "app.kubernetes.io/component"

Manifest = dict[str, Any]


class Refused(Exception):
    """Helm did not take the values; its words."""


def helm(binary: Path, *words: str) -> str:
    """Standard output of one command.

    Raises:
        Refused: it failed.
    """
    done = subprocess.run([binary, *words], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise Refused(done.stdout + done.stderr)
    return done.stdout


def render(binary: Path, values: Path) -> Rendered:
    """The chart as release `shop` in the namespace `shops`; raises as `helm`."""
    text = helm(binary, "template", "shop", str(CHART), "-n", "shops", "-f", str(values))
    return Rendered([one for one in yaml.safe_load_all(text) if one])


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """A label selector, or the plain map of a Service's; expressions with `In` alone."""
    wanted = selector.get("matchLabels", {} if "matchExpressions" in selector else selector)
    listed = selector.get("matchExpressions", [])
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        one["operator"] == "In" and labels.get(one["key"]) in one["values"] for one in listed
    )


@dataclass(frozen=True, slots=True)
class Pod:
    """One workload's pods."""

    part: str
    owner: Manifest
    labels: dict[str, str]
    spec: Manifest

    @property
    def containers(self) -> list[Manifest]:
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]

    @property
    def main(self) -> Manifest:
        (one,) = self.spec["containers"]
        return one

    def variables(self, container: Manifest) -> dict[str, str]:
        """Those that stand in the manifest as they are."""
        return {one["name"]: one["value"] for one in container.get("env", []) if "value" in one}

    def secrets(self, container: Manifest) -> dict[str, tuple[str, str]]:
        """Variables from Secrets: name and key of each."""
        found = {}
        for one in container.get("env", []):
            if ref := one.get("valueFrom", {}).get("secretKeyRef"):
                found[one["name"]] = (ref["name"], ref["key"])
        return found


@dataclass(frozen=True)
class Rendered:
    """All manifests of one set of values."""

    manifests: list[Manifest]

    def of(self, kind: str) -> list[Manifest]:
        return [one for one in self.manifests if one["kind"] == kind]

    @cached_property
    def pods(self) -> dict[str, Pod]:
        """By part."""
        return {pod.part: pod for pod in self._pods()}

    def _pods(self) -> Iterator[Pod]:
        for one in self.manifests:
            if template := one.get("spec", {}).get("template"):
                labels = template["metadata"]["labels"]
                yield Pod(labels[COMPONENT], one, labels, template["spec"])

    @cached_property
    def settings(self) -> dict[str, str]:
        """What the parts' ConfigMap has."""
        (found,) = [one for one in self.of("ConfigMap") if one["metadata"]["name"].endswith("-settings")]
        return dict(found["data"])
