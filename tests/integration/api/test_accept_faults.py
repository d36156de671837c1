"""Accepting orders with a full disk, an unavailable database, or a killed process, all real."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from infra.processes.ports import any_free
from infra.settings import Settings
from schemas.menu import Menu
from services.bootstrap import Container, bootstrap
from services.workers import sweeper
from services.workers.sweeper import collect_orphans
from tests.conftest import PostgreSQL
from tests.credentials import header_at
from tests.integration.api_world import MENU, World, expect_problem, running, wav
from tests.processes.parts import program
from tests.stand_ins import TESTER
from tests.waiting import answers, until

TEXT = {"transcript": "a latte", "menu": MENU["id"]}
# The API, killed between storing a recording and its order.
KILLED_BEFORE_THE_TRANSACTION = """
import os, signal
from services.storage.orders.store import OrderStore
OrderStore.create = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from services.api.__main__ import main
main()
"""
HOUR_S = 3600


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    place = tmp_path / "tiny"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a tmpfs can't be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path) -> Path:
    """Fill the disk."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError:
            return filler


def upload(world: World, seconds: float = 0.2) -> httpx.Response:
    return world.http.post("/v1/orders", files={"audio": ("a", wav(seconds))})


def count(world: World) -> int:
    return sum(world.parts.orders.counts().values())


def test_a_full_disk_for_recordings(tiny_disk: Path, database_url: str) -> None:
    with running(tiny_disk, database_url) as world:
        expect_problem(upload(world, seconds=150), 507, "storage_full")  # 4.8 MB: full midway
        filler = fill(tiny_disk)
        refused = upload(world)
        assert expect_problem(refused, 507, "storage_full")["retryable"]
        assert int(refused.headers["retry-after"]) >= 1
        assert (world.recordings, count(world)) == ([], 0)
        # Requests without a file still work.
        assert world.http.post("/v1/orders", json=TEXT).status_code == 202
        filler.unlink()
        assert upload(world).status_code == 202
        assert (len(world.recordings), count(world)) == (1, 2)


def test_recordings_are_refused_before_the_disk_is_full(tmp_path: Path, database_url: str) -> None:
    with running(tmp_path, database_url, least_free_bytes=10**18) as world:
        refused = upload(world)
        found = expect_problem(refused, 507, "storage_full")
        assert "SAYCART_LEAST_FREE_BYTES" in found["hint"]
        assert int(refused.headers["retry-after"]) >= 1
        assert (world.recordings, count(world)) == ([], 0)
        assert world.http.post("/v1/orders", json=TEXT).status_code == 202


def test_a_full_disk_for_the_database(tiny_disk: Path, tmp_path: Path) -> None:
    with running(tmp_path / "home", f"sqlite:///{tiny_disk / 'saycart.db'}", client_backlog=0) as world:
        filler = fill(tiny_disk)
        accepted = 0
        # The database's last pages may have space for a few more.
        while (answer := world.http.post("/v1/orders", json=TEXT)).status_code == 202:
            accepted += 1
            assert accepted < 500, "the disk never got full"
        expect_problem(answer, 507, "storage_full")
        expect_problem(upload(world), 507, "storage_full")
        assert (world.recordings, count(world)) == ([], accepted)
        filler.unlink()
        assert upload(world).status_code == 202
        assert (len(world.recordings), count(world)) == (1, accepted + 1)


def test_postgresql_goes_away_during_an_upload(
    postgresql: PostgreSQL, migrated_postgresql: str, tmp_path: Path
) -> None:
    postgresql.empty(migrated_postgresql)

    def open_to_clients(is_open: bool) -> None:
        with psycopg.connect(f"host={postgresql.home} user=postgres", autocommit=True) as admin:
            admin.execute(f'ALTER DATABASE "{migrated_postgresql}" WITH ALLOW_CONNECTIONS {is_open}')
            if not is_open:
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                    [migrated_postgresql],
                )

    def body() -> Iterator[bytes]:
        yield b'--B\r\nContent-Disposition: form-data; name="audio"; filename="a"\r\n\r\n' + wav()
        # By now the request has passed all checks that come before its body.
        until(lambda: world.recordings)
        open_to_clients(False)
        yield b"\r\n--B--\r\n"

    headers = {"Content-Type": "multipart/form-data; boundary=B", "Idempotency-Key": "k"}
    with running(tmp_path, postgresql.url(migrated_postgresql)) as world:
        try:
            refused = world.http.post("/v1/orders", content=body(), headers=headers)
            assert expect_problem(refused, 503, "storage_unavailable")["retryable"]
            assert world.recordings == []
            expect_problem(world.http.post("/v1/orders", json=TEXT), 503, "storage_unavailable")
        finally:
            open_to_clients(True)
        assert count(world) == 0
        again = world.http.post("/v1/orders", files={"audio": ("a", wav())}, headers={"Idempotency-Key": "k"})
        assert again.status_code == 202
        assert "idempotency-replayed" not in again.headers
        assert (len(world.recordings), count(world)) == (1, 1)


def test_only_old_orphans_are_deleted(tmp_path: Path, database_url: str) -> None:
    with running(tmp_path, database_url) as world:
        box = world.parts
        kept = box.orders.get(upload(world).json()["id"]).audio_key
        with box.blobs.open() as writer:
            orphan = writer.commit()
        assert collect_orphans(box) == 0, "it is young: its order may still come"
        age(box, kept, orphan)
        assert collect_orphans(box) == 1
        assert list(box.blobs.older_than(-HOUR_S)) == [kept]
        assert collect_orphans(box) == 0


def test_a_kill_between_file_and_order_leaves_an_orphan(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, api_port=any_free(), redis_url="redis://127.0.0.1:1/0")
    box = bootstrap(settings)
    box.database.migrate()
    box.menus.of("main").put(Menu.parse(MENU), by=TESTER)
    url = f"http://127.0.0.1:{settings.api_port}"
    with program(settings, "-c", KILLED_BEFORE_THE_TRANSACTION) as child:
        until(lambda: answers(f"{url}/livez"), 30)
        sent = {"files": {"audio": ("a", wav())}, "headers": header_at(settings.database)}
        with pytest.raises(httpx.HTTPError):
            httpx.post(f"{url}/v1/orders", trust_env=False, **sent)
        assert child.wait(10) == -signal.SIGKILL
    (orphan,) = box.blobs.older_than(-HOUR_S)
    assert sum(box.orders.counts().values()) == 0
    age(box, orphan)
    assert collect_orphans(box) == 1
    assert not box.blobs.path(orphan).exists()
    box.close()


def age(box: Container, *keys: str) -> None:
    """Make recordings old enough for the sweeper."""
    old = time.time() - sweeper.AGE_S - HOUR_S
    for key in keys:
        os.utime(box.blobs.path(key), (old, old))
