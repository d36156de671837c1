"""The last step of .ci/run, the containers in short: only where a Docker engine answers, and never for long.

The script itself runs, with programs in place of make, docker and what it would install.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from infra.settings import REPOSITORY

PASSED = "echo '=== 3 passed in 1.0s ==='"
SHORT = "make test-containers-short"


def ci(folder: Path, docker: str, make: str) -> subprocess.CompletedProcess[str]:
    """Its run; `make` is what each target does, and `folder/asked` has what was run under a limit."""
    programs = {
        "docker": docker,
        "make": f'case "$1" in {make} esac',
        "ldconfig": "echo libgomp.so.1",
        **dict.fromkeys(("chromium", "caddy", "pgbouncer", "promtool"), "exit 0"),
        "timeout": f'echo "$*" >>{folder}/asked; while [ "${{1#-}}" != "$1" ]; do shift; done; shift; "$@"',
    }
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    # Without CI=true, by which it would remove this checkout's environment.
    return subprocess.run(
        [REPOSITORY / ".ci" / "run"], env={"PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_without_an_engine_one_line_says_that_they_are_skipped(tmp_path: Path) -> None:
    done = ci(tmp_path, "exit 1", f"test) {PASSED} ;; check) ;; *) echo NOT ASKED FOR; exit 1 ;;")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("containers") == 1
    assert "ci: no Docker engine answers: the containers in short are skipped" in done.stdout
    assert SHORT not in (tmp_path / "asked").read_text()


@pytest.mark.parametrize(
    ("code", "says"), [(0, "ci: containers  ok"), (2, "failed (2)"), (124, "out of time")]
)
def test_with_one_they_come_last_and_count(tmp_path: Path, code: int, says: str) -> None:
    done = ci(tmp_path, "exit 0", f"test) {PASSED} ;; check) ;; test-containers-short) exit {code} ;;")
    assert (done.returncode == 0) is (code == 0), done.stdout + done.stderr
    assert says in done.stdout.splitlines()[-1]
    *_, last = (tmp_path / "asked").read_text().splitlines()
    assert last.endswith(f" 480 {SHORT}"), "eight minutes at most"
    assert "--signal=INT" in last


def test_what_failed_before_them_still_fails(tmp_path: Path) -> None:
    done = ci(tmp_path, "exit 0", f"test) {PASSED} ;; check) exit 1 ;; test-containers-short) ;;")
    assert done.returncode != 0
    assert "ci: containers  ok" in done.stdout
