"""Fetch Helm once; without it the tests here are skipped with a reason."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.helm.charts import CASES, VALUES, Rendered, render
from tests.helm.tools import HELMS, NoTools, tools


@pytest.fixture(scope="session")
def tools_folder() -> Path:
    try:
        return tools()
    except NoTools as error:
        pytest.skip(f"the chart is not tried: {error} (make helm-tools)")


@pytest.fixture(scope="session", params=HELMS)
def helm_binary(request: pytest.FixtureRequest, tools_folder: Path) -> Path:
    return tools_folder / f"helm-{request.param}"


@cache
def _rendered(binary: Path, case: str) -> Rendered:
    return render(binary, VALUES / f"{case}.yaml")


@pytest.fixture(scope="session", params=CASES)
def case(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def chart(tools_folder: Path, case: str) -> Rendered:
    """The chart with each set of values, by the newest Helm; a test compares the oldest."""
    return _rendered(tools_folder / f"helm-{list(HELMS)[-1]}", case)


@pytest.fixture
def whole(tools_folder: Path) -> Rendered:
    return _rendered(tools_folder / f"helm-{list(HELMS)[-1]}", "whole")
