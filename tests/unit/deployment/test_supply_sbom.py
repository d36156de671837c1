"""docs/sbom.cdx.json is what the locks pin: compared without its tool and without a network."""

from __future__ import annotations

import ctypes
import json
import re
from typing import Any

import pytest

from infra.redis import server as redis_server
from infra.settings import REPOSITORY
from infra.weights.lock import lock
from tests.supply import carried, locks

TEXT = (REPOSITORY / "docs/sbom.cdx.json").read_text()
SBOM: dict[str, Any] = json.loads(TEXT)
MEND = "run `make sbom`"


def components(kind: str) -> dict[str, dict[str, Any]]:
    """Components by package URL, or by name where they have none; `kind` is how the key begins."""
    found = {c.get("purl", c["name"]): c for c in SBOM["components"]}
    return {key: component for key, component in found.items() if key.startswith(kind)}


def hashes(component: dict[str, Any]) -> dict[str, list[str]]:
    """sha256 of each place that a component's bytes come from."""
    return {
        reference["url"]: sorted(
            entry["content"] for entry in reference["hashes"] if entry["alg"] == "SHA-256"
        )
        for reference in component["externalReferences"]
    }


def files(component: dict[str, Any]) -> dict[str, str]:
    return {file["name"]: file["hashes"][0]["content"] for file in component["components"]}


def licence(component: dict[str, Any]) -> str:
    (entry,) = component["licenses"]
    said = entry.get("expression") or entry["license"].get("id") or entry["license"]["name"]
    return str(said)


def test_packages_versions_and_hashes_are_those_of_the_lock() -> None:
    pinned = {pin.purl: {pin.purl: list(pin.hashes)} for pin in locks.pins("requirements.lock")}
    assert {purl: hashes(component) for purl, component in components("pkg:pypi/").items()} == pinned, MEND


def test_weights_and_their_pieces_are_those_of_the_model_lock() -> None:
    found = components("pkg:huggingface/") | components("pkg:github/")
    assert len(found) == len(lock().models), MEND
    for model in lock().models:
        of_github = model.home == "github"  # whose package URLs are lower case
        component = found[f"pkg:{model.home}/{model.upstream.lower() if of_github else model.upstream}"]
        assert (component["type"], component["name"]) == ("machine-learning-model", model.name)
        assert licence(component) == model.licence
        assert files(component) == {file.name: file.sha256 for file in model.files}, MEND
        assert hashes(component) == {
            f"pkg:pypi/{piece.package}@{piece.version}": [piece.sha256] for piece in model.pieces
        }, MEND


def test_adapters_are_the_files_of_this_repository() -> None:
    assert {name: files(c) for name, c in components("infra/adapters/").items()} == locks.adapters(), MEND


def test_scripts_are_those_of_the_pages() -> None:
    rows = locks.vendored("services/web/static/vendor")
    found = components("pkg:npm/")
    assert set(found) == {f"pkg:npm/{row['package']}@{row['version']}" for row in rows}, MEND
    assert {name: value for component in found.values() for name, value in files(component).items()} == {
        row["file"]: row["sha256"] for row in rows
    }


def test_nothing_else_is_in_it() -> None:
    kinds = ("pkg:pypi/", "pkg:huggingface/", "pkg:github/", "infra/adapters/", "pkg:npm/")
    assert sum(len(components(kind)) for kind in kinds) == len(SBOM["components"])


@pytest.mark.parametrize("program", carried.PROGRAMS, ids=lambda p: p.name)
def test_programs_inside_wheels_are_of_the_version_that_is_told(program: carried.Program) -> None:
    import av
    import psycopg

    (component,) = [c for c in components("pkg:pypi/").values() if c["name"] == program.wheel]
    assert (program.name, program.version) in {(c["name"], c["version"]) for c in component["components"]}, (
        MEND
    )
    number = psycopg.pq.version()
    actual = {
        "redis-server": lambda: re.search(r"v=(\S+)", redis_server.version())[1],  # type: ignore[index]
        "ffmpeg": lambda: av.ffmpeg_version_info,
        "libpq": lambda: f"{number // 10000}.{number % 10000}",
        "openssl": _openssl,
    }
    assert actual[program.name]() == program.version, "correct tests/supply/carried.py, then `make sbom`"


def _openssl() -> str:
    """Of the library in psycopg's wheel, which is not the one that Python itself has."""
    libs = carried.site() / "psycopg_binary.libs"
    if not libs.exists():
        pytest.skip("psycopg's wheel for this platform keeps its libraries elsewhere")
    (path,) = libs.glob("libcrypto-*")
    crypto = ctypes.CDLL(str(path))
    crypto.OpenSSL_version.restype = ctypes.c_char_p
    return str(crypto.OpenSSL_version(0).decode().split()[1])
