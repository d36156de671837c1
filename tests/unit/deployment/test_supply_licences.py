"""docs/licences.md is what is locked and installed, and a licence that is not on the list is refused."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from infra.weights.lock import lock
from tests.supply import carried, licences, locks, spdx

PAGE = licences.PAGE.read_text()
MEND = "run `make licences` and look at what changed"


def test_every_locked_package_is_on_the_page() -> None:
    assert set(licences.on_page(PAGE)) == set(licences.used()), MEND


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


def test_weights_and_scripts_are_on_the_page() -> None:
    for model in lock().models:
        assert f"| `{model.name}` | {model.upstream} | {model.licence} |" in PAGE
    for folder in locks.VENDORED:
        for row in locks.vendored(folder):
            assert (
                f"| `{folder}/{row['file']}` | {row['package']} {row['version']} | {row['licence']} |" in PAGE
            )


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
