"""docs/licences.md is what is locked, installed and vendored; other licences are refused."""

from __future__ import annotations

import hashlib
import platform
import sys
from pathlib import Path

import pytest

from infra.settings import REPOSITORY
from tests.supply import carried, licences, locks, spdx

PAGE = licences.PAGE.read_text()
MEND = "run `make licences` and look at what changed"


def test_the_page_says_what_the_installed_packages_say() -> None:
    said = licences.on_page(PAGE)
    here = {key: licence for key, licence in licences.installed().items() if key in said}
    assert len(here) > 80
    assert {key: said[key] for key in here} == here, MEND


def test_every_licence_is_allowed_or_taken_by_name() -> None:
    assert list(licences.faults(licences.on_page(PAGE))) == []


def test_what_is_taken_by_name_is_there_and_needs_it() -> None:
    needs = {name for (name, _), licence in licences.on_page(PAGE).items() if spdx.refused(licence)}
    assert needs == set(spdx.TAKEN)


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="of wheels for this platform"
)
def test_the_page_is_the_one_that_is_written_now() -> None:
    written = licences.page(licences.on_page(PAGE), carried.libraries(carried.site()))
    assert written == PAGE, MEND


@pytest.mark.parametrize(
    "expression",
    ["GPL-3.0-only", "AGPL-3.0-or-later", "LGPL-3.0-only", "MIT AND GPL-2.0-only", "MIT OR GPL-2.0-only",
     "(MIT OR Apache-2.0) AND SSPL-1.0", "GPL-2.0-only WITH Classpath-exception-2.0", spdx.UNKNOWN],
)  # fmt: skip
def test_a_new_dependency_of_another_licence_is_refused(expression: str) -> None:
    (fault,) = licences.faults({("new", "1.0"): expression})
    assert fault.startswith("new 1.0: ")


def test_a_library_that_a_wheel_carries_anew_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "av.libs").mkdir()
    for name in ("libx264-d6533a8d.so.165", "libgfortran-040039e1-0352e75f.so.5.0.0", "libnew-00000000.so.1"):
        (tmp_path / "av.libs" / name).touch()
    assert carried.libraries(tmp_path) == {"av": ["gfortran", "new", "x264"]}
    monkeypatch.setattr(carried, "site", lambda: tmp_path)
    assert list(licences.faults({})) == ["av carries libnew, which tests/supply/carried.py does not have"]


@pytest.mark.parametrize("folder", locks.VENDORED)
def test_every_vendored_script_is_the_one_that_its_package_published(folder: str) -> None:
    here, rows = REPOSITORY / folder, locks.vendored(folder)
    assert {path.name for path in here.glob("*.js")} == {row["file"] for row in rows}
    for row in rows:
        assert hashlib.sha256((here / row["file"]).read_bytes()).hexdigest() == row["sha256"], row["file"]
        assert (here / row["licence_file"]).read_text().strip()
