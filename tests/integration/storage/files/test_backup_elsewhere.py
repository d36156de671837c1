"""Backups where no image of ours has PostgreSQL's programs: the commands of docs/containers.md and the
chart's CronJob, run as they stand on a real server. No container and no cluster is in it."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from infra.blobs.folder import BlobFolder
from infra.settings import REPOSITORY, Settings
from schemas.records.orders import NewOrder
from services.bootstrap import Container, bootstrap
from services.storage.orders.store import OrderStore
from tests.containers.documented import backups
from tests.helm.charts import VALUES, Pod, render
from tests.helm.tools import HELMS, NoTools, tools
from tests.servers.postgresql import PostgreSQL
from tests.stand_ins import CAFE, TESTER

NUMBERS = itertools.count()
# `docker compose exec -T SERVICE WORDS` and the like: the words alone, in this place.
DOCKER = """#!/bin/sh
shift
case "$1" in
  up) exit 0 ;;
  exec) shift 3 ;;
  run) while [ "$1" != api ]; do shift; done; shift ;;
esac
exec "$@"
"""


@dataclass
class Shop:
    """A home on PostgreSQL in which orders were spoken."""

    box: Container
    sounds: dict[str, bytes]

    @property
    def url(self) -> str:
        return str(self.box.settings.database_url)


@pytest.fixture
def shop(postgresql: PostgreSQL, tmp_path: Path) -> Iterator[Shop]:
    name = f"elsewhere_{next(NUMBERS)}"
    box = bootstrap(Settings(home=tmp_path / "data", database_url=postgresql.create(name)))
    box.database.migrate()
    box.menus.of("main").put(CAFE, by=TESTER)
    (box.settings.home / "secret").write_text("a" * 64)
    sounds = {}
    for sound in (b"RIFF1", b"RIFF2"):
        with BlobFolder(box.settings.blobs).open() as writer:
            writer.write(sound)
            key = writer.commit()
        new = NewOrder(CAFE.id, 1, "en", audio_key=key, audio_format="wav")
        sounds[OrderStore(box.database, "main").create(new)[0].id] = sound
    assert box.database.row_security().fault is None, "a copy as of one shop would lack rows"
    yield Shop(box, sounds)
    box.close()


@pytest.fixture(scope="module")
def cron_job() -> Pod:
    try:
        helm = tools() / f"helm-{list(HELMS)[-1]}"
    except NoTools as error:
        pytest.skip(f"the chart is not tried: {error} (make helm-tools)")
    return render(helm, VALUES / "whole.yaml").pods["backup"]


def run_job(pod: Pod, shop: Shop, folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """The CronJob's own words and variables, in `folder` for its volume."""
    path = f"{programs}:/usr/bin:/bin"
    known = {"PATH": path, "DATABASE_URL": shop.url, **pod.variables(pod.main)}
    shell, flag, script = pod.main["command"]
    return subprocess.run(
        [shell, flag, script], cwd=folder, env=known, capture_output=True, text=True, timeout=60
    )


def restored(url: str, home: Path, folder: Path, programs: Path) -> str:
    """What `saycart restore` says, from a process of its own."""
    env = os.environ | {"DATABASE_URL": url, "SAYCART_HOME": str(home), "COLUMNS": "250"}
    done = subprocess.run(
        [sys.executable, "-m", "services.cli.main", "restore", str(folder)],
        cwd=REPOSITORY, env=env | {"PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_the_cron_job_writes_is_what_saycart_restores(
    cron_job: Pod, shop: Shop, postgresql: PostgreSQL, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    (folder / "2026-01-01T00-00-00Z.unfinished").mkdir(parents=True)
    for day in range(1, 5):
        (folder / f"2020-01-0{day}T00-00-00Z").mkdir()
    done = run_job(cron_job, shop, folder, postgresql.programs)
    assert done.returncode == 0, done.stderr
    *old, made = sorted(path.name for path in folder.iterdir())
    assert old == ["2020-01-03T00-00-00Z", "2020-01-04T00-00-00Z"], "with the new one `keep`, which is 3"
    assert (folder / made).stat().st_mode & 0o077 == 0
    assert json.loads((folder / made / "backup.json").read_text())["made_at"] == made

    url = postgresql.create(f"elsewhere_{next(NUMBERS)}")
    said = restored(url, tmp_path / "new", folder, postgresql.programs)
    assert f"As of {made}" in said
    found = bootstrap(Settings(home=tmp_path / "new", database_url=url))
    assert {order_id for order_id, _ in found.orders.due(limit=9, idle_s=0)} == set(shop.sounds)
    found.close()


def test_a_copy_that_failed_is_none_and_takes_no_older_one_with_it(
    cron_job: Pod, shop: Shop, postgresql: PostgreSQL, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    for day in range(1, 6):
        (folder / f"2020-01-0{day}T00-00-00Z").mkdir(parents=True)
    broken = tmp_path / "programs"
    broken.mkdir()
    (broken / "pg_dump").write_text("#!/bin/sh\nexit 1\n")
    (broken / "pg_dump").chmod(0o755)
    assert run_job(cron_job, shop, folder, broken).returncode != 0
    assert len(list(folder.glob("*Z"))) == 5
    assert run_job(cron_job, shop, folder, postgresql.programs).returncode == 0
    assert not list(folder.glob("*.unfinished"))


def test_the_commands_for_containers_bring_all_back(
    shop: Shop, postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, back = backups()
    fake = tmp_path / "docker"
    fake.write_text(DOCKER)
    fake.chmod(0o755)
    for name in ("PGHOST", "PGUSER", "PGPASSWORD"):
        monkeypatch.delenv(name, raising=False)

    def run(commands: str, home: Path, database: str) -> None:
        words = commands.replace("/data", str(home)).replace("-d saycart", f"-d {database}")
        words = words.replace("saycart audit", f"{sys.executable} -m services.cli.main audit")
        env: dict[str, Any] = {
            "PATH": f"{tmp_path}:{postgresql.programs}:/usr/bin:/bin", "PGHOST": str(postgresql.home),
            "DATABASE_URL": postgresql.url(database), "SAYCART_HOME": str(home),
            "PYTHONPATH": str(REPOSITORY),
        }  # fmt: skip
        done = subprocess.run(
            ["sh", "-euxc", words], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr

    run(out, shop.box.settings.home, str(make_url(shop.url).database))
    new, home = f"elsewhere_{next(NUMBERS)}", tmp_path / "back"
    url = postgresql.create(new)
    home.mkdir()
    run(back, home, new)
    found = bootstrap(Settings(home=home, database_url=url))
    assert found.database.standing().is_ == "current"
    assert found.database.row_security().held == shop.box.database.row_security().held != ()
    for order_id, sound in shop.sounds.items():
        key = str(found.orders.get(order_id).audio_key)
        assert (found.settings.blobs / key[:2] / key).read_bytes() == sound
    assert (home / "secret").read_text() == "a" * 64
    found.close()
