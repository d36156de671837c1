"""The code of earlier releases, taken out of this checkout's history to be run on the newest tables."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from infra.settings import REPOSITORY

LAST = "47f0b2e"
"""The commit of the last release, whose newest revision is the one before ours: with it an upgrade rolls.
Moved up with each revision."""
OLDEST = "d5424c5"
"""The one of the oldest release that migrations still say they serve (`serves_from`). It stays until the
contraction of its columns has come."""


def unpack(commit: str, folder: Path) -> Path:
    """Its `infra`, `schemas` and `services` below `folder`. Skips the test where there is no clone, or one
    that does not go back so far; in CI a clone that is whole and lacks the commit fails it."""
    packed = _git("archive", commit, "infra/*.py", "infra/migrations", "schemas", "services")
    if packed.returncode:
        whole = _git("rev-parse", "--is-shallow-repository").stdout.strip() == b"false"
        lacks = f"the release of {commit} is not in this checkout's history"
        if whole and os.environ.get("CI") == "true":
            pytest.fail(f"{lacks}, which is whole: name another in tests/processes/last_release.py")
        pytest.skip(lacks)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True)
