"""Manifests are valid by the schemas of Kubernetes' releases."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.helm.charts import CHART, VALUES, Manifest, Rendered, helm, render
from tests.helm.tools import HELMS, KUBERNETES

CUSTOM = {"ScaledObject", "ServiceMonitor", "PodMonitor", "ScrapeConfig", "PrometheusRule"}


@cache
def kinds(file: Path) -> dict[tuple[str, str], Draft202012Validator]:
    """Return a validator for each apiVersion and kind."""
    definitions = json.loads(file.read_text())["$defs"]
    found = {}
    for name, schema in definitions.items():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            api = f"{kind['group']}/{kind['version']}".lstrip("/")
            whole = {"$defs": definitions, "$ref": f"#/$defs/{name}"}
            found[api, kind["kind"]] = Draft202012Validator(whole)
    return found


def problems(manifest: Manifest, known: dict[tuple[str, str], Draft202012Validator]) -> list[str]:
    validator = known.get((manifest["apiVersion"], manifest["kind"]))
    if validator is None:  # of an operator, whose schema is in no package
        assert manifest["kind"] in CUSTOM
        return []
    name = f"{manifest['kind']} {manifest['metadata']['name']}"
    return [f"{name}: {error.json_path}: {error.message}" for error in validator.iter_errors(manifest)]


@pytest.mark.parametrize("case", ["smallest", "whole"])
def test_lint_has_nothing_to_say(helm_binary: Path, case: str) -> None:
    said = helm(helm_binary, "lint", "--strict", str(CHART), "-f", str(VALUES / f"{case}.yaml"))
    assert "0 chart(s) failed" in said


@pytest.mark.parametrize("release", KUBERNETES)
def test_manifests_fit_the_schemas_of_kubernetes(chart: Rendered, tools_folder: Path, release: str) -> None:
    known = kinds(tools_folder / f"kubernetes-{release}.json")
    assert chart.manifests
    assert [one for manifest in chart.manifests for one in problems(manifest, known)] == []


def test_the_oldest_helm_makes_the_same(tools_folder: Path, chart: Rendered, case: str) -> None:
    oldest, *_, newest = HELMS
    assert oldest != newest
    assert render(tools_folder / f"helm-{oldest}", VALUES / f"{case}.yaml").manifests == chart.manifests


def test_whole_has_every_kind(whole: Rendered) -> None:
    """Otherwise conditional parts would never be tested."""
    named = {
        line.split()[1]
        for file in (CHART / "templates").glob("*.yaml")
        for line in file.read_text().splitlines()
        if line.startswith("kind:")
    }
    assert {manifest["kind"] for manifest in whole.manifests} == named


def test_names_are_unique(chart: Rendered) -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in chart.manifests]
    assert len(set(names)) == len(names)


def test_the_chart_is_for_the_releases_it_is_checked_with() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">={KUBERNETES[0]}.0-0"


def test_alerts_come_as_they_are(whole: Rendered) -> None:
    """Helm doesn't expand Prometheus' own braces."""
    (rule,) = whole.of("PrometheusRule")
    files = yaml.safe_load((VALUES / "whole.yaml").read_text())["monitoring"]["prometheusRule"]["files"]
    assert rule["spec"] == yaml.safe_load(files["alerts"])
    assert "{{ $labels.instance }}" in json.dumps(rule["spec"])
