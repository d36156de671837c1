"""The container files, checked by parsing: there is no Docker engine where these tests run."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.models import lock
from infra.settings import REPOSITORY, Settings
from services.engines import vllm_server
from services.pipeline.flow import BY_NAME
from services.workers.stack import WORKERS

COMPOSE: dict[str, Any] = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("saycart")]
DOCKERFILE = (REPOSITORY / "infra/docker/Dockerfile").read_text()
# Read by workers and sweeper themselves, because it is no wish of an operator's.
NOT_SETTINGS = {"SAYCART_READY_FILE"}

API_WITHOUT = """
import importlib.abc, sys
from pathlib import Path

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[2:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import services.api.__main__
from infra.settings import Settings
from schemas.access import Access
from schemas.audit import Actor
from schemas.menu import Menu
from services.api.app import create_app
from services.bootstrap import bootstrap
from services.desk import Desk

home = Path(sys.argv[1])
box = bootstrap(Settings(home=home, redis_url="redis://127.0.0.1:1/0", database_url=""))
create_app(box), box.doorbell, box.blobs
Desk(box, Access("main", "test", frozenset()), Actor("test")).cart_schema(None)
box.check_menu(Menu.parse({"id": "m", "name": "M", "currency": "USD",
    "items": [{"sku": "tea", "name": "tea", "price": 100}]}), 1)
"""


def arguments(service: str) -> list[str]:
    command = SERVICES[service]["command"]
    assert isinstance(command, list), "a list needs no shell"
    return command


def after(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


@pytest.mark.parametrize("service", OURS)
def test_commands_name_modules_that_exist(service: str) -> None:
    words = arguments(service)
    assert words[:2] == ["python", "-m"]
    assert find_spec(words[2])
    if words[2] == "celery":
        assert find_spec(after(words, "-A"))


def test_variables_are_settings() -> None:
    known = {f"SAYCART_{name.upper()}" for name in Settings.model_fields} | NOT_SETTINGS
    text = (REPOSITORY / "docker-compose.yml").read_text() + DOCKERFILE
    assert set(re.findall(r"SAYCART_[A-Z_]+", text)) <= known
    for name in NOT_SETTINGS:
        assert f'"{name}"' in (REPOSITORY / "services/workers/app.py").read_text()
    for service in OURS:
        for variable in SERVICES[service]["environment"]:
            assert variable in known | {"DATABASE_URL", "REDIS_URL"}


def test_default_values_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SERVICES["api"]["environment"].items():
        default = re.sub(r"\$\{\w+:([-?])([^}]*)\}", lambda m: m[2] if m[1] == "-" else "secret", value)
        monkeypatch.setenv(name, default)
    settings = Settings()
    assert settings.llm_url == "http://llm:8080"
    assert settings.llm_model in lock().names
    assert settings.home == Path("/data")


def test_every_stage_has_a_worker() -> None:
    served = {name: after(arguments(name), "-Q") for name in OURS if "celery" in arguments(name)}
    assert served == {f"worker-{name}": queues for name, queues in WORKERS.items()}
    assert sorted(q for queues in served.values() for q in queues.split(",")) == sorted(BY_NAME)


def test_volumes_are_declared_and_hosts_are_not_mounted() -> None:
    users: dict[str, list[str]] = {}
    for service, parts in SERVICES.items():
        for mount in parts.get("volumes", ()):
            users.setdefault(mount.split(":")[0], []).append(service)
    assert set(users) == set(COMPOSE["volumes"])
    assert users["recordings"] == ["api", "worker-transcribe", "sweeper"]
    # The recordings' folder is the one that the settings name.
    blobs = Settings(home=Path("/data")).blobs
    assert f"recordings:{blobs}" in SERVICES["api"]["volumes"]


def test_parts_wait_for_parts_that_exist_and_can_say_that_they_are_up() -> None:
    for parts in SERVICES.values():
        for needed, how in parts.get("depends_on", {}).items():
            assert needed in SERVICES
            assert how["condition"] == "service_completed_successfully" or "healthcheck" in SERVICES[needed]


def test_only_the_api_is_published_and_on_loopback() -> None:
    published = {name: parts["ports"] for name, parts in SERVICES.items() if "ports" in parts}
    assert published == {"api": ["127.0.0.1:8420:8420"]}


def test_vllm_is_started_with_the_settings_that_matter() -> None:
    command = SERVICES["vllm"]["command"]
    assert [word for word in command if not word.startswith("--model=")] == [
        *(f"{option}={value}" for option, value in vllm_server.SERVING.items()),
        *vllm_server.FLAGS,
    ]
    assert vllm_server.STRUCTURED["backend"] == "guidance"
    assert SERVICES["vllm"]["profiles"] == ["gpu"]


def test_targets_and_sources_of_the_images_exist() -> None:
    targets = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE))
    assert {SERVICES[name]["build"]["target"] for name in OURS} <= targets
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for source in line.split():
            assert (REPOSITORY / source).exists(), source
    assert "--require-hashes" in DOCKERFILE


def test_packages_left_out_are_in_the_lock() -> None:
    locked = set(re.findall(r"^([a-z0-9-]+)==", (REPOSITORY / "requirements.lock").read_text(), re.MULTILINE))
    assert set(_left_out("DEVELOPMENT") + _left_out("ENGINES")) <= locked


def test_the_api_works_without_what_its_image_leaves_out(tmp_path: Path) -> None:
    absent = [name.replace("-", "_") for name in _left_out("DEVELOPMENT") + _left_out("ENGINES")]
    done = subprocess.run(
        [sys.executable, "-c", API_WITHOUT, str(tmp_path), *absent, "google"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def _left_out(argument: str) -> list[str]:
    found = re.search(rf'^ARG {argument}="([^"]+)"$', DOCKERFILE, re.MULTILINE)
    assert found is not None
    return found[1].split()
