"""A short form of `make attack`'s fuzzing, with a fixed seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.openapi.run import attacked
from tests.openapi.served import Served, served


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("openapi")) as running:
        yield running


# The key with all scopes gets every case that the schemas imply, the others one for each call.
@pytest.mark.parametrize(
    ("key", "how"),
    [
        ("all", ("--phases", "examples,coverage")),
        ("one", ("--phases", "fuzzing", "-n", "1")),
        ("none", ("--phases", "fuzzing", "-n", "1")),
    ],
)
def test_every_call_keeps_to_its_document(
    api: Served, tmp_path: Path, key: str, how: tuple[str, ...]
) -> None:
    done = attacked(api, key, tmp_path, "--seed", "16", *how)
    assert done.failures == [], done.output
    assert done.cases >= 25
