"""Other users of the machine can't read what a stack writes: real processes, started with umask 0."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from infra.processes.ports import any_free
from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from services.workers.children import as_environment
from services.workers.worker import celery_argv
from tests.credentials import header_at
from tests.integration.api_world import MENU, wav
from tests.processes.parts import python
from tests.waiting import answers, until

# With `umask 0`, only our own code can make the files private.
OPEN = 0
SUPERVISED = '''
import os, sys
from pathlib import Path
from infra.processes.child import Child
from infra.redis.server import EmbeddedRedis
from infra.processes.ports import any_free
from infra.processes.supervisor import Supervisor
from tests.credentials import header_at
home = Path(sys.argv[1])
os.umask(0o077)  # as `Stack.start` does
code = """import os, sys, time
open(sys.argv[1], 'w'); os.mkdir(sys.argv[1] + '.d'); print('up', flush=True); time.sleep(60)"""
file = home / "run" / "written"
server = EmbeddedRedis(home / "redis", any_free(), home / "logs" / "redis.log")
writer = Child("writer", (sys.executable, "-c", code, str(file)),
               home / "logs" / "writer.log", file.with_name("written.d").exists)
supervisor = Supervisor(home)
supervisor.start([server.child(), writer])
import redis
with redis.Redis.from_url(server.url) as client:
    client.rpush("queue", "x")
supervisor.stop()
'''
STARTED_S = 90.0


def wider(home: Path) -> list[str]:
    """Return paths with permissions for other users, with their modes."""
    found = []
    for path in [home, *home.rglob("*")]:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:  # a journal that was removed after listing
            continue
        if mode & 0o077 and not stat.S_ISLNK(mode):
            found.append(f"{stat.filemode(mode)} {path.relative_to(home)}")
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "made" / "home"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(argv: list[str] | tuple[str, ...], config: Settings, **more: str) -> subprocess.Popen[bytes]:
        with (tmp_path / "output").open("ab") as output:
            process = subprocess.Popen(
                argv,
                env={**os.environ, **as_environment(config), **more},
                umask=OPEN,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.terminate()
    for process in started:
        process.wait(30)


def test_files_are_private_to_their_user(
    home: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    server = EmbeddedRedis(tmp_path / "redis", any_free(), tmp_path / "redis.log")
    config = Settings(home=home, api_port=any_free(), redis_url=server.url, llm_url="http://127.0.0.1:9")
    start(server.child().argv, config)
    until(server.answers, STARTED_S)
    start([sys.executable, "-m", "services.api"], config)
    url = f"http://127.0.0.1:{config.api_port}"
    until(lambda: answers(f"{url}/livez"), STARTED_S)
    ready = home / "run"
    ready.mkdir(mode=0o700)
    start([sys.executable, "-m", "services.workers.sweeper"], config, SAYCART_READY_FILE=str(ready / "s"))
    start(celery_argv("read", "read,validate", 1, "INFO"), config, SAYCART_READY_FILE=str(ready / "w"))
    with httpx.Client(base_url=url, headers=header_at(config.database), trust_env=False) as http:
        assert http.put(f"/v1/menus/{MENU['id']}", json=MENU).status_code in (200, 201)
        assert http.post("/v1/orders", files={"audio": ("a", wav())}).status_code == 202
    until(lambda: (ready / "w").exists() and (ready / "s").exists(), STARTED_S)
    words, env = ("staff", "add", "ann", "--password-stdin"), os.environ | as_environment(config)
    done = python("-m", "services.cli.main", *words, input="a long enough password", env=env, umask=OPEN)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in home.iterdir()}
    assert {"saycart.db", "saycart.db-wal", "saycart.db-shm", "recordings", "run"} <= names
    assert [path for path in (home / "recordings").glob("??/*") if path.is_file()]
    assert wider(home) == []


def test_the_first_command_makes_a_home_private(home: Path) -> None:
    """Before any stack has run in it."""
    env = os.environ | as_environment(Settings(home=home))
    done = python("-m", "services.cli.main", "staff", "list", env=env, umask=OPEN)
    assert home.is_dir(), done.stderr
    assert wider(home) == []


def test_children_inherit_the_umask(home: Path) -> None:
    """Redis, logs, passwords, records, and files of children that don't set a umask."""
    done = python("-c", SUPERVISED, home, umask=OPEN)
    assert done.returncode == 0, done.stderr
    names = {str(path.relative_to(home)) for path in home.rglob("*")}
    assert {
        "redis/password", "redis/operator", "redis/redis.conf", "redis/appendonly.aof",
        "logs/redis.log", "logs/writer.log", "run/written", "run/written.d",
    } <= names  # fmt: skip
    assert wider(home) == []
