"""The code of the last release, taken out of this checkout's history to be run on the newest tables."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from infra.settings import REPOSITORY

LAST = "d5424c5"
"""The commit of the last release that must run on the newest tables. Moved up with each release; it stays
where it is as long as the contraction of that release's columns has not come."""


def unpack(folder: Path) -> Path:
    """Its `infra`, `schemas` and `services` below `folder`; skips the test where the clone does not go back
    so far, or is no clone."""
    packed = subprocess.run(
        ["git", "archive", LAST, "infra/*.py", "infra/migrations", "schemas", "services"],
        cwd=REPOSITORY,
        capture_output=True,
    )
    if packed.returncode:
        pytest.skip(f"the last release, {LAST}, is not in this checkout's history")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder
