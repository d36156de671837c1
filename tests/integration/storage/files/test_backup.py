"""A backup that is made under load and put back into an empty home, on SQLite and on PostgreSQL."""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from sqlalchemy import select
from typer.testing import CliRunner

from infra.blobs.folder import BlobFolder
from infra.settings import Settings
from infra.sql.database import Database
from schemas.records.orders import NewOrder
from schemas.transcript import Transcript
from services.bootstrap import Container, bootstrap
from services.cli import client
from services.cli.commands import backup as module
from services.cli.main import app
from services.storage.base.tables import OrderRow
from services.storage.orders.store import OrderStore
from tests.servers.postgresql import PostgreSQL
from tests.stand_ins import CAFE, TESTER

TEXT = Transcript(text="a tea", confidence=1.0)
NUMBERS = itertools.count()


@dataclass
class Place:
    """A home and its database, and the command line that works on them."""

    config: Settings
    patch: pytest.MonkeyPatch

    def saycart(self, *words: object) -> Result:
        for asked in (client, module):
            self.patch.setattr(asked, "settings", lambda: self.config)
        return CliRunner().invoke(app, [str(word) for word in words])

    def open(self) -> Container:
        return bootstrap(self.config)


@pytest.fixture
def place(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Place]:
    """`place("old")`: the one with tables, `place("new")` an empty one of the same kind."""
    monkeypatch.setenv("COLUMNS", "250")
    urls = {"old": database_url, "new": f"sqlite:///{tmp_path / 'new' / 'saycart.db'}"}
    if not database_url.startswith("sqlite"):
        server: PostgreSQL = request.getfixturevalue("postgresql")
        urls["new"] = server.create(f"restored_{next(NUMBERS)}")
        monkeypatch.setenv("PATH", f"{server.programs}:/usr/bin:/bin")
    return lambda name: Place(Settings(home=tmp_path / name, database_url=urls[name]), monkeypatch)


def spoken(box: Container, sound: bytes) -> tuple[str, str]:
    """An order that came as a recording, and the recording's key."""
    with BlobFolder(box.settings.blobs).open() as writer:
        writer.write(sound)
        key = writer.commit()
    order, _ = OrderStore(box.database, "main").create(
        NewOrder(CAFE.id, 1, "en", audio_key=key, audio_format="wav")
    )
    return order.id, key


def orders_of(box: Container) -> dict[str, Any]:
    with box.database.everywhere().read() as session:
        ids = session.scalars(select(OrderRow.id)).all()
    return {order_id: box.orders.get(order_id) for order_id in ids}


def test_all_that_was_accepted_before_a_backup_is_there_after_a_restore(
    place: Callable[[str], Place], tmp_path: Path
) -> None:
    old, folder = place("old"), tmp_path / "backups"
    box = old.open()
    box.menus.of("main").put(CAFE, by=TESTER)
    (old.config.home / "secret").write_text("a" * 64)
    sounds = {spoken(box, b"RIFF%d" % number)[0]: b"RIFF%d" % number for number in range(3)}
    held = OrderStore(box.database, "main").create(NewOrder(CAFE.id, 1, "en", transcript=TEXT))[0]
    box.orders.claim(held.id, held.state, owner="worker", lease_s=600)
    before = orders_of(box)

    stop, late = threading.Event(), list[str]()

    def go_on() -> None:
        writer = old.open()
        while not stop.is_set():
            late.append(
                OrderStore(writer.database, "main").create(NewOrder(CAFE.id, 1, "en", transcript=TEXT))[0].id
            )
        writer.close()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        done = old.saycart("backup", folder)
    finally:
        stop.set()
        thread.join(30)
    assert done.exit_code == 0, done.output
    assert "3 new" in done.output

    new = place("new")
    done = new.saycart("restore", folder)
    assert done.exit_code == 0, done.output
    assert "3 recordings" in done.output
    found = new.open()
    restored = orders_of(found)
    assert before.keys() <= restored.keys() <= before.keys() | set(late)
    for order_id, sound in sounds.items():
        with found.blobs.local(str(restored[order_id].audio_key)) as kept:
            assert kept.read_bytes() == sound
    # Nobody holds what a worker held then: it is free to be taken up.
    assert restored[held.id].lease_owner is None
    assert {order_id for order_id, _ in found.orders.due(limit=len(restored), idle_s=0)} >= before.keys()
    assert (new.config.home / "secret").read_text() == "a" * 64
    assert found.menus.of("main").get(CAFE.id).menu == CAFE
    assert found.audit.verify() == box.audit.verify()
    box.close()
    found.close()


def test_recordings_are_copied_once_and_go_with_the_order_that_had_them(
    place: Callable[[str], Place], tmp_path: Path
) -> None:
    old, folder = place("old"), tmp_path / "backups"
    box = old.open()
    box.menus.of("main").put(CAFE, by=TESTER)
    gone, gone_key = spoken(box, b"RIFF1")
    _, lost_key = spoken(box, b"RIFF2")
    assert "2 new, 0 unused" in old.saycart("backup", folder / "a").output
    assert "2 new, 0 unused" in old.saycart("backup", folder).output
    OrderStore(box.database, "main").cancel(gone)
    box.blobs.delete(gone_key)
    shutil.rmtree(old.config.blobs)  # the disk's fault, which must not empty the backup
    shutil.move(next(folder.glob("2*")), folder / "2000-01-01T00-00-00Z")  # two within one second are one
    done = old.saycart("backup", folder)
    assert "0 new, 1 unused" in done.output, done.output
    kept = {file.name for file in (folder / "recordings").glob("??/*")}
    assert (gone_key in kept, lost_key in kept) == (False, True)
    box.close()


def test_recordings_in_a_bucket_are_left_there_and_that_is_said(
    place: Callable[[str], Place], tmp_path: Path
) -> None:
    old = place("old")
    old.config = old.config.model_copy(update={"recordings_url": "s3://somewhere/else"})
    done = old.saycart("backup", tmp_path / "backups")
    assert (done.exit_code, "not copied" in done.output) == (0, True), done.output
    assert not (tmp_path / "backups" / "recordings").exists()


def test_what_is_no_whole_backup_or_would_overwrite_is_refused(
    place: Callable[[str], Place], tmp_path: Path
) -> None:
    old, new, folder = place("old"), place("new"), tmp_path / "backups"
    refused = new.saycart("restore", folder)
    assert (refused.exit_code, "No complete backup" in refused.output) == (1, True)
    assert old.saycart("backup", folder).exit_code == 0
    made = next(folder.glob("2*"))
    (folder / "2999-01-01T00-00-00Z.unfinished").mkdir()

    taken = old.saycart("restore", folder)
    assert taken.exit_code == 1
    assert "already" in taken.output

    file = next(path for path in made.iterdir() if path.name.startswith("saycart"))
    written = file.read_bytes()
    file.write_bytes(written[:-1] + bytes([written[-1] ^ 1]))
    assert "doesn't match its checksum" in new.saycart("restore", folder).output


def test_no_other_user_can_read_a_backup(place: Callable[[str], Place], tmp_path: Path) -> None:
    old, folder = place("old"), tmp_path / "backups"
    box = old.open()
    box.menus.of("main").put(CAFE, by=TESTER)
    spoken(box, b"RIFF1")
    box.close()
    assert old.saycart("backup", folder).exit_code == 0
    for path in folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_without_postgresqls_programs_it_says_which_package_has_them(
    place: Callable[[str], Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    if database.is_sqlite:
        pytest.skip("SQLite copies itself")
    monkeypatch.setenv("PATH", str(tmp_path))
    done = place("old").saycart("backup", tmp_path / "backups")
    assert (done.exit_code, "postgresql-client" in done.output) == (1, True)
    assert not list((tmp_path / "backups").glob("*Z"))
