"""Start docker-compose.yml in real containers, as a separate project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.processes.ports import any_free
from infra.settings import REPOSITORY, settings
from schemas.shops.access import Scope

HERE = Path(__file__).resolve().parent
PROJECT, OLD, NEW = "saycart-test", "test", "test-next"
BASES = ("python:3.11-slim-bookworm", "redis:7-alpine", "postgres:17-alpine")
# Services that exit with 0 when they are done.
JOBS = {"migrate", "weights"}
# Empty: no containers; `short`: only tests/containers/test_short.py; anything else: all other tests.
WANTED = os.environ.get("SAYCART_TEST_CONTAINERS", "")
BUILD_S, UP_S, SOON_S = 1800, 900, 120


class Refused(RuntimeError):
    """A Docker command failed; has its output."""


def docker(*words: str, timeout_s: float = SOON_S, **env: str) -> str:
    """Return the standard output of a `docker` command; raises `Refused`."""
    return _run(["docker", *words], timeout_s, env)


def engine() -> str:
    """Return what is wrong with Docker; empty if an engine responds."""
    if shutil.which("docker") is None or _compose() is None:
        return "docker, or Compose, is not installed: apt-get install docker.io docker-compose"
    try:
        docker("info", "--format", "{{.ServerVersion}}")
    except (Refused, subprocess.TimeoutExpired) as error:
        return f"no Docker engine answers ({str(error)[-200:].strip()}): start one (`dockerd`, as root)"
    return ""


def base_images() -> None:
    """Pull missing base images, or build stand-ins.

    Raises:
        Refused: neither works.
    """
    missing = [name for name in BASES if not docker("images", "-q", name)]
    if any(_failed(lambda n=name: docker("pull", "-q", n, timeout_s=300)) for name in missing):
        _run([str(HERE / "base_images.sh")], BUILD_S, _builder())


class Composed:
    """The compose file as the project `PROJECT`, on a free port of loopback."""

    def __init__(self) -> None:
        self.port = any_free()
        self.env = {
            **_builder(),
            "POSTGRES_PASSWORD": "containers",
            "SAYCART_API_PORT": str(self.port),
            "TAG": OLD,
            "COMPOSE_PROJECT_NAME": PROJECT,
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def compose(self, *words: str, timeout_s: float = SOON_S) -> str:
        """Return the standard output of a Compose command; raises `Refused`."""
        command = _compose()
        assert command is not None
        return _run([*command, *words], timeout_s, self.env)

    def bring_weights(self) -> None:
        """Copy weights from this user's folder, if any, into the volume `models`. The service `weights`
        verifies them, and fetches missing ones such as the denoiser (13 MB)."""
        here = settings().models_dir
        if here.is_dir():
            wanted = "$(ls -d faster-whisper-* qwen2.5-coder-1.5b-*)"
            script = f"cd /from && cp -r {wanted} /models && chown -R 10001:10001 /models"
            mounts = ("-v", f"{PROJECT}_models:/models", "-v", f"{here}:/from:ro")
            self.compose("up", "--no-start", "weights")
            copy = (*mounts, f"saycart-worker:{OLD}", "sh", "-c", script)
            docker("run", "--rm", "--user", "0", *copy, timeout_s=600)

    def container(self, service: str) -> dict[str, Any]:
        """Inspect a service's container."""
        name = ["--filter", f"label=com.docker.compose.service={service}"]
        found = docker("ps", "-aq", "--filter", f"label=com.docker.compose.project={PROJECT}", *name).split()
        assert len(found) == 1, (service, found)
        inspected: dict[str, Any] = json.loads(docker("inspect", found[0]))[0]
        return inspected

    def state(self, service: str) -> str:
        """Return `healthy`, `starting`, `unhealthy`, for a job `done` or `failed`, or Docker's own status."""
        state = self.container(service)["State"]
        if service in JOBS and state["Status"] == "exited":
            return "failed" if state["ExitCode"] else "done"
        return str(
            state.get("Health", {}).get("Status", state["Status"]) if state["Running"] else state["Status"]
        )

    def until_well(self, *services: str, timeout_s: float = UP_S) -> None:
        """Wait until each service was healthy or done; raises `Refused` on a timeout."""
        until, missing = time.monotonic() + timeout_s, list(services)
        while missing:
            states = {name: self.state(name) for name in missing}
            missing = [name for name in missing if states[name] not in ("healthy", "done")]
            if time.monotonic() > until:
                raise Refused(f"{states}\n{self.compose('logs', '--tail=30', *missing)}")
            time.sleep(0.5)

    def release(self) -> None:
        """Build images of a next release, which differ by a label, and switch to them."""
        for role in ("api", "worker", "hearing", "llm"):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "Dockerfile").write_text(
                    f"FROM saycart-{role}:{OLD}\nLABEL saycart.release=next\n"
                )
                _run(["docker", "build", "-q", "-t", f"saycart-{role}:{NEW}", folder], SOON_S, _builder())
        self.env["TAG"] = NEW

    def inside(self, service: str, *words: str) -> str:
        """Run a command in a service's container; return its standard output or raise `Refused`."""
        return self.compose("exec", "-T", service, *words)

    def crash(self, service: str) -> None:
        """Kill all processes of a service except the container's first, like an OOM kill."""
        # The container usually ends before the shell.
        _failed(lambda: self.inside(service, "sh", "-c", "kill -9 -1"))

    def key(self) -> str:
        """Add a key to the main shop by command."""
        scopes = ",".join((Scope.ORDERS_WRITE, Scope.ORDERS_READ, Scope.MENUS_READ, Scope.MENUS_WRITE))
        return self.inside("api", "saycart", "keys", "add", "till", "--scope", scopes).split()[-1]

    def end(self) -> None:
        """Remove containers, networks, volumes and both releases' images."""
        self.compose("down", "-v", "--remove-orphans", "--timeout", "30", timeout_s=300)
        made = docker("images", "--format", "{{.Repository}}:{{.Tag}}").split()
        if ours := [
            name for name in made if name.startswith("saycart-") and name.endswith((f":{OLD}", f":{NEW}"))
        ]:
            docker("image", "rm", "-f", *ours)


@contextmanager
def begun() -> Iterator[Composed]:
    """Yield a fresh project, removed at the end. Without an engine the test fails."""
    if problem := engine():
        pytest.fail(problem)
    stack = Composed()
    stack.end()
    try:
        yield stack
    finally:
        stack.end()


def _compose() -> list[str] | None:
    if not _failed(lambda: docker("compose", "version")):
        return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else None


def _builder() -> dict[str, str]:
    """Return the variables for the old builder if there is no BuildKit plugin; newer clients need them."""
    old = _failed(lambda: docker("buildx", "version"))
    return {"DOCKER_BUILDKIT": "0", "COMPOSE_DOCKER_CLI_BUILD": "0"} if old else {}


def _failed(command: Callable[[], str]) -> bool:
    try:
        command()
    except (Refused, subprocess.TimeoutExpired, FileNotFoundError):
        return True
    return False


def _run(words: list[str], timeout_s: float, env: dict[str, str]) -> str:
    done = subprocess.run(
        words, cwd=REPOSITORY, env={**os.environ, **env}, capture_output=True, text=True, timeout=timeout_s
    )
    if done.returncode:
        raise Refused(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout
