"""The images and their build context, checked by parsing and imports; `make test-containers` builds them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from infra.settings import REPOSITORY
from infra.weights.adapters import ADAPTERS
from infra.weights.wheels import sha256
from services.bootstrap import SAMPLE
from tests.unit.deployment.test_version import VERSION

DOCKERFILE = (REPOSITORY / "infra/docker/Dockerfile").read_text()
# Base, name and lines of each stage.
STAGES = re.findall(r"^FROM (\S+) AS (\S+)\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.M | re.S)

ABSENT = """
import importlib.abc, sys
from pathlib import Path

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[2:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
"""
API_WITHOUT = """
import services.api.__main__
from infra.settings import Settings
from schemas.menu import Menu
from services.api.app import create_app
from services.bootstrap import bootstrap
from services.decoding.wire_mask import check_menu

home = Path(sys.argv[1])
box = bootstrap(Settings(home=home, redis_url="redis://127.0.0.1:1/0", database_url=""))
create_app(box), box.doorbell, box.blobs
check_menu(Menu.parse({"id": "m", "name": "M", "currency": "USD",
    "items": [{"sku": "tea", "name": "tea", "price": 100}]}))
"""
WORKER_WITHOUT = """
import services.workers.app, services.workers.sweeper, services.workers.courier
from infra.settings import Settings
from services.bootstrap import bootstrap
from services.retrieval.names import names_of

box = bootstrap(Settings(home=Path(sys.argv[1]), redis_url="redis://127.0.0.1:1/0", database_url="",
    llm_url="http://127.0.0.1:1"))
box.database.migrate()
box.tools, box.doorbell, box.blobs, box.decoder
for menu, _ in box.wanted_menus():
    names_of(menu)
"""


def test_packages_left_out_are_in_the_lock() -> None:
    locked = set(re.findall(r"^([a-z0-9-]+)==", (REPOSITORY / "requirements.lock").read_text(), re.MULTILINE))
    named = [_named(argument) for argument in ("DEVELOPMENT", "HEARING", "LLM")]
    assert set().union(*named) <= locked
    assert sum(map(len, named)) == len(set().union(*named))


def test_packages_for_development_alone_are_left_out() -> None:
    """The lock names the packages that require each one."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = {
        canonicalize_name(Requirement(line).name)
        for line in [*project["dependencies"], *project["optional-dependencies"]["traces"]]
    }
    entries = re.split(r"\n(?=[a-z0-9])", (REPOSITORY / "requirements.lock").read_text())
    users = {
        entry.partition("==")[0]: set(re.findall(r"^    # (?:via)? +(\S+)$", entry, re.M))
        for entry in entries
    }
    while more := {name for name, by in users.items() if by & wanted} - wanted:
        wanted |= more
    assert set(users) - wanted - set(_named("DEVELOPMENT")) == set()


@pytest.mark.parametrize("role", ["api", "worker", "weights", "hearing", "llm"])
def test_each_image_has_a_health_check_an_sbom_and_no_root(role: str) -> None:
    stages = {name: (base, text) for base, name, text in STAGES}
    lines, stage = "", role
    while stage in stages:
        stage, text = stages[stage]
        lines = text + lines
    assert re.findall(r"^USER (\S+)$", lines, re.M)[-1] == "10001:10001"
    assert "HEALTHCHECK " in lines
    assert "ARG SBOM\nCOPY ${SBOM} /usr/share/doc/saycart/\n" in lines


COMMANDS = {
    "docker": 'case "$*" in *RepoDigests*) echo python@sha256:ba5e ;; *.Size*) echo 7 ;; esac',
    "git": 'case "$1" in describe) echo "$COMMIT" ;; *) echo https://token@code.example/saycart.git ;; esac',
    "python": f'case "$2" in *.sbom) echo "{{}}" ;; *) exec "{sys.executable}" "$@" ;; esac',
    "skopeo": 'cp -r layout "$(echo "$4" | cut -d : -f 2)"',
}


def stored(descriptor: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a blob of an image's layout."""
    blob = folder / "dist/saycart-llm/blobs" / descriptor["digest"].replace(":", "/")
    return dict(json.loads(blob.read_text()))


@pytest.mark.parametrize(("commit", "digest"), [("c0de", {"gitCommit": "c0de"}), ("c0de-dirty", None)])
def test_sbom_and_provenance_are_attached_to_each_image(commit: str, digest: object, tmp_path: Path) -> None:
    for name, body in COMMANDS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("infra", "tests", "pyproject.toml"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    blobs = tmp_path / "layout/blobs/sha256"
    blobs.mkdir(parents=True)
    image = {"digest": "sha256:1d", "annotations": {"org.opencontainers.image.ref.name": "1.0.0"}}
    (tmp_path / "layout/index.json").write_text(json.dumps({"manifests": [image]}))
    (blobs / "1d").write_text('{"config": {"digest": "sha256:c0"}}')
    (blobs / "c0").write_text('{"architecture": "amd64", "os": "linux"}')
    there = {"PATH": f"{tmp_path}:/usr/bin:/bin", "COMMIT": commit}
    subprocess.run(["infra/docker/images.sh", "python", "api", "llm"], cwd=tmp_path, env=there, check=True)
    [index] = json.loads((tmp_path / "dist/saycart-llm/index.json").read_text())["manifests"]
    built, attestation = stored(index, tmp_path)["manifests"]
    assert index["annotations"] == image["annotations"]
    assert attestation["annotations"]["vnd.docker.reference.digest"] == built["digest"] == "sha256:1d"
    slsa, sbom = (stored(layer, tmp_path) for layer in stored(attestation, tmp_path)["layers"])
    assert (sbom["predicateType"], sbom["predicate"]) == ("https://cyclonedx.org/bom", {})
    assert (
        slsa["subject"] == sbom["subject"] == [{"name": f"saycart-llm:{VERSION}", "digest": {"sha256": "1d"}}]
    )
    code, base, lock = slsa["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert code["uri"] == f"git+https://code.example/saycart.git@{commit}"
    assert code.get("digest") == digest
    assert base == {"uri": "pkg:docker/python@3.11-slim-bookworm", "digest": {"sha256": "ba5e"}}
    assert lock["digest"] == {"sha256": sha256(REPOSITORY / "requirements.lock")}


HEARS = "import av, faster_whisper, services.transcription.whisper, services.transcription.audio.audio"
SERVES = "import xllamacpp, services.decoding.server.__main__, services.decoding.server.service"


@pytest.mark.parametrize(
    ("code", "left_out"),
    [
        (API_WITHOUT, ["HEARING", "LLM"]),
        (WORKER_WITHOUT, ["HEARING", "LLM"]),
        (f"{WORKER_WITHOUT}\n{HEARS}", ["LLM"]),
        (SERVES, ["HEARING"]),
    ],
    ids=["api", "worker", "worker that hears", "reader"],
)
def test_each_image_works_without_what_it_leaves_out(code: str, left_out: list[str], tmp_path: Path) -> None:
    assert run_without(f"{code}\nprint('works')", ["DEVELOPMENT", *left_out], tmp_path).endswith("works\n")


def test_adapters_are_converted_without_the_packages_that_the_images_omit(tmp_path: Path) -> None:
    """Into GGUFs, where weights are fetched and served: neither image has tqdm, which gguf requires."""
    convert = """
import services.transcription.adapted
from infra.weights.adapters import ADAPTERS, prepared

for card in ADAPTERS.glob("*/trained.json"):
    prepared(card.parent, Path(sys.argv[1]))
"""
    run_without(convert, ["DEVELOPMENT", "HEARING", "LLM"], tmp_path)
    assert len(list(tmp_path.glob("adapters/*.gguf"))) == len(list(ADAPTERS.glob("*/trained.json"))) > 0


def run_without(code: str, left_out: list[str], home: Path) -> str:
    names = [name.replace("-", "_") for argument in left_out for name in _named(argument)]
    done = subprocess.run(
        [sys.executable, "-c", ABSENT + code, str(home), *names, "google"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _named(argument: str) -> list[str]:
    found = re.search(rf'^ARG {argument}="([^"]+)"$', DOCKERFILE, re.MULTILINE)
    assert found is not None
    return found[1].split()


def test_the_build_is_sent_only_what_it_needs() -> None:
    """The last pattern that matches a file decides."""
    first, *patterns = re.findall(r"^[^#\n]+$", (REPOSITORY / ".dockerignore").read_text(), re.MULTILINE)
    sent = [line.removeprefix("!") for line in patterns if line.startswith("!")]
    project = {"pyproject.toml", "README.md", "LICENSE", "dist/*.cdx.json"}
    project |= {"requirements.lock", "requirements-engine.lock"}
    assert (first, set(sent), patterns[-1]) == ("*", {"schemas", "services", "infra", *project}, "**/.*")
    for needed in (SAMPLE, *ADAPTERS.glob("*/*")):
        path = str(needed.relative_to(REPOSITORY))
        assert not [line for line in patterns if path.startswith(line)], "the images need it"
