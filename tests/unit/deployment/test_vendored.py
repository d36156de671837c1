"""Vendored scripts are the files that their packages published, with their licences beside them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY

FOLDERS = [REPOSITORY / "services/web/static/vendor", REPOSITORY / "tests/browser/vendor"]


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "manifest.json").read_text())["files"]
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: str(f.relative_to(REPOSITORY)))
def test_every_script_is_the_one_in_the_manifest(folder: Path) -> None:
    known = {row["file"]: row for row in rows(folder)}
    assert {path.name for path in folder.glob("*.js")} == set(known)
    for name, row in known.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == row["sha256"], name
        assert (folder / row["licence_file"]).read_text().strip()
        assert row["version"]
        assert row["licence"]
