"""Render the chart with some values, and parse the result."""

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
    """Helm refused the values; has its message."""


def helm(binary: Path, *words: str) -> str:
    """Return a command's standard output.

    Raises:
        Refused: it failed.
    """
    done = subprocess.run([binary, *words], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise Refused(done.stdout + done.stderr)
    return done.stdout


def render(binary: Path, values: Path) -> Rendered:
    """Render the chart as release `shop` in the namespace `shops`; raises as `helm`."""
    text = helm(binary, "template", "shop", str(CHART), "-n", "shops", "-f", str(values))
    return Rendered([one for one in yaml.safe_load_all(text) if one])


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return True if a label selector, or a Service's plain one, matches; only `In` expressions."""
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
        """Return the variables with literal values."""
        return {one["name"]: one["value"] for one in container.get("env", []) if "value" in one}

    def secrets(self, container: Manifest) -> dict[str, tuple[str, str]]:
        """Return the variables from Secrets, with the name and key of each."""
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
        """The content of the parts' ConfigMap."""
        (found,) = [one for one in self.of("ConfigMap") if one["metadata"]["name"].endswith("-settings")]
        return dict(found["data"])
