"""The clients' models match the API."""

from __future__ import annotations

import json

from tests.clients import generated


def test_the_models_of_python_are_fresh() -> None:
    assert generated.PYTHON.read_text() == generated.python(), "make client-models"


def test_the_types_of_typescript_are_fresh() -> None:
    with generated.TYPESCRIPT.open() as file:
        assert file.readline() == generated.typescript_head(), "make client-models"


def test_what_builds_the_npm_package_is_pinned_by_hashes_alone() -> None:
    lock = json.loads((generated.TYPESCRIPT.parents[1] / "package-lock.json").read_text())
    packages = [package for path, package in lock["packages"].items() if path]
    assert [package for package in packages if "resolved" in package or not package["integrity"]] == []
