"""Package, chart, images, API, clients and the newest changelog entry share one version."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from infra.settings import REPOSITORY, Settings
from infra.weights.lock import default_names
from services.api.app import create_app
from services.bootstrap import bootstrap
from services.cli.main import app
from services.cli.version import COMMIT_ENV

CHART = yaml.safe_load((REPOSITORY / "infra/helm/saycart/Chart.yaml").read_text())
CLIENTS = REPOSITORY / "services/clients"


def project(folder: Path) -> str:
    return str(tomllib.loads((folder / "pyproject.toml").read_text())["project"]["version"])


VERSION = project(REPOSITORY)


@pytest.mark.parametrize(
    "version",
    [
        CHART["version"],
        CHART["appVersion"],
        project(CLIENTS / "python"),
        project(CLIENTS / "masked"),
        json.loads((CLIENTS / "typescript/package.json").read_text())["version"],
        json.loads((CLIENTS / "typescript/package-lock.json").read_text())["version"],
        *re.findall(r"saycart-\S+:([\d.]+)", (REPOSITORY / "docs/containers.md").read_text()),
        re.findall(r"^## (\d[\d.]*)", (REPOSITORY / "CHANGELOG.md").read_text(), re.M)[0],
    ],
)
def test_there_is_one_version(version: str) -> None:
    assert version == VERSION


def test_the_api_says_it(tmp_path: Path) -> None:
    parts = bootstrap(Settings(home=tmp_path))
    try:
        document: dict[str, Any] = create_app(parts).openapi()
    finally:
        parts.close()
    assert document["info"]["version"] == VERSION


def test_the_command_says_it_with_commit_and_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMMIT_ENV, "4f2a")
    lines = CliRunner().invoke(app, ["--version"]).output.splitlines()
    assert lines[:2] == [f"saycart {VERSION}", "commit 4f2a"]
    models = [re.fullmatch(r"model (\S+) sha256:[0-9a-f]{64}", line) for line in lines[2:]]
    assert [found and found[1] for found in models] == [*default_names()]
