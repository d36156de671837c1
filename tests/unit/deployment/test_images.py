"""The images and what a build is sent, by reading and by imports; `make test-containers` builds them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from infra.settings import REPOSITORY
from infra.weights.adapters import ADAPTERS
from services.bootstrap import SAMPLE

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
    """The lock says of each package what wants it."""
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
    run_without(code, ["DEVELOPMENT", *left_out], tmp_path)


def test_adapters_are_turned_without_what_the_images_that_do_it_leave_out(tmp_path: Path) -> None:
    """Into GGUFs, where weights are fetched and where they are served: neither has tqdm, which gguf names."""
    turns = """
import services.transcription.adapted
from infra.weights.adapters import ADAPTERS, prepared

for card in ADAPTERS.glob("*/trained.json"):
    prepared(card.parent, Path(sys.argv[1]))
"""
    run_without(turns, ["DEVELOPMENT", "HEARING", "LLM"], tmp_path)
    assert len(list(tmp_path.glob("adapters/*.gguf"))) == len(list(ADAPTERS.glob("*/trained.json"))) > 0


def run_without(code: str, left_out: list[str], home: Path) -> None:
    names = [name.replace("-", "_") for argument in left_out for name in _named(argument)]
    done = subprocess.run(
        [sys.executable, "-c", ABSENT + code, str(home), *names, "google"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def _named(argument: str) -> list[str]:
    found = re.search(rf'^ARG {argument}="([^"]+)"$', DOCKERFILE, re.MULTILINE)
    assert found is not None
    return found[1].split()


def in_context(path: str) -> bool:
    """Whether the build is sent a path: the last pattern that fits it, or a folder above it, says."""
    above = [path, *map(str, Path(path).parents)][:-1]
    sent = True
    for line in (REPOSITORY / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = re.escape(line.removeprefix("!")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
            if any(re.fullmatch(pattern, part) for part in above):
                sent = line.startswith("!")
    return sent


@pytest.mark.parametrize(
    "path",
    [
        *(f"{name}/lib/python3.11/site-packages/torch/a.so" for name in (".venv", ".venv-vllm", "venv-next")),
        ".saycart/secret",
        ".env",
        ".git/config",
        "services/.env",
        "notes.txt",
        "reports/evaluation/rows.jsonl",
        "tests/unit/deployment/test_compose.py",
        "docs/operations.md",
        "docker-compose.yml",
        "requirements-vllm.lock",
        "services/__pycache__/shop_scope.cpython-311.pyc",
        "saycart.egg-info/PKG-INFO",
        "services/learning/training/pack.py",
    ],
)
def test_the_build_is_not_sent(path: str) -> None:
    assert not in_context(path)


def test_the_build_is_sent_what_it_needs_and_little_more() -> None:
    assert in_context(str(SAMPLE.relative_to(REPOSITORY))), "a worker that hears warms up with it"
    assert all(in_context(str(card.relative_to(REPOSITORY))) for card in ADAPTERS.glob("*/*"))
    rooms = [path for path in REPOSITORY.iterdir() if in_context(path.name)]
    files = [file for room in rooms for file in ([room] if room.is_file() else room.rglob("*"))]
    sent = [file for file in files if file.is_file() and in_context(str(file.relative_to(REPOSITORY)))]
    assert sum(file.stat().st_size for file in sent) < 80_000_000
