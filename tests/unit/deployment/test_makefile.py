"""`make` finds a supported Python, or says which versions it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from infra.settings import REPOSITORY
from tests.conftest import ALONE_FILES, ALONE_FOLDERS

MAKE = shutil.which("make") or "make"
# A version manager's `python3.12` when no 3.12 is selected.
IDLE = "exit 127"


def reports(version: str) -> str:
    """Return a script for a Python that reports another version."""
    code = f"import sys; sys.version_info = ({version.replace('.', ', ')}, 0); exec(sys.argv[1])"
    return f"exec {sys.executable} -c '{code}' \"$2\""


def made(folder: Path, pythons: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run `make` with only these Pythons on its path."""
    for name, body in pythons.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return subprocess.run(
        [MAKE, "-s", *words],
        cwd=REPOSITORY,
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ({"python3.11": reports("3.11"), "python3": reports("3.12")}, "python3.11"),
        ({"python3.11": IDLE, "python3.12": reports("3.12"), "python3": reports("3.9")}, "python3.12"),
        ({"python3.13": reports("3.13"), "python3": reports("3.14")}, "python3.13"),
        ({"python3": reports("3.12")}, "python3"),
        ({"python3": reports("3.14")}, ""),
        ({"python3": reports("3.10"), "python3.12": IDLE}, ""),
        ({}, ""),
    ],
)
def test_the_first_python_that_runs_and_is_allowed_is_taken(
    pythons: dict[str, str], chosen: str, tmp_path: Path
) -> None:
    done = made(tmp_path, pythons, "--eval", "which: ; @echo '[$(PYTHON)]' || exit", "which")
    assert done.stdout.strip() == f"[{chosen}]", done.stderr


@pytest.mark.parametrize("words", [(), ("PYTHON=python3",), ("PYTHON=/nowhere/python3.12",)])
def test_without_one_make_says_which_it_needs(words: tuple[str, ...], tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    done = made(tmp_path, {"python3": reports("3.10")}, "setup", f"VENV={venv}", *words)
    assert done.returncode != 0
    assert "saycart needs Python 3.11, 3.12 or 3.13" in done.stdout
    assert "make PYTHON=" in done.stdout
    assert not venv.exists()


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_lock_pins_all_that_the_project_needs_on_each_python(version: str) -> None:
    here = {**default_environment(), "python_version": version, "python_full_version": f"{version}.9"}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project.get("optional-dependencies", {}).get("dev", [])]
    lines = (REPOSITORY / "requirements.lock").read_text().splitlines()
    pins = [Requirement(line.rstrip("\\ ")) for line in lines if re.match(r"[a-z0-9]\S*==", line)]
    pinned = {pin.name: pin for pin in pins if pin.marker is None or pin.marker.evaluate(here)}
    assert len(pinned) > 50
    for wanted in map(Requirement, needed):
        if wanted.marker is None or wanted.marker.evaluate(here):
            pin = pinned[canonicalize_name(wanted.name)]
            assert wanted.specifier.contains(str(pin.specifier).removeprefix("==")), wanted


@pytest.mark.parametrize(
    ("dated", "ci", "tags"),
    [("2026-12-01", "true", "v1.0.0\n"), ("not tagged yet", "true", ""), ("2026-12-01", "false", "")],
)
def test_a_release_is_tagged_if_it_has_a_date_and_ci_passes(
    dated: str, ci: str, tags: str, tmp_path: Path
) -> None:
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").write_text('version = "1.0.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"## 1.0.0 ({dated})\n")
    for name, program in {".ci/run": ci, "infra/docker/images.sh": "true"}.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).symlink_to(shutil.which(program) or program)
    for name in ("requirements-supply.lock", ".installed"):
        (tmp_path / name).touch()
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Release"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    who = {"GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com"}
    subprocess.run([MAKE, "-s", "release", "SUPPLY=."], cwd=tmp_path, env=os.environ | who, timeout=60)
    assert subprocess.check_output(["git", "tag"], cwd=tmp_path, text=True) == tags


def test_what_make_test_runs_alone_is_there_under_that_name() -> None:
    tests = REPOSITORY / "tests"
    files = {file.name for file in (tests / "integration").rglob("test_*.py")}
    folders = {folder.name for folder in tests.iterdir()}
    assert (ALONE_FILES - files, set(ALONE_FOLDERS) - folders) == (set(), set())
