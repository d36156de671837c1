"""Earlier releases work on the newest tables, as the last one must while an upgrade rolls; what they left is
read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.sql.database import Database
from infra.sql.revisions import known
from schemas.shops.access import EVERY_SHOP
from services.storage.orders.store import OrderStore
from services.workers.sweeper import fold
from tests.integration.api_world import running
from tests.processes import last_release
from tests.processes.last_release import LAST, OLDEST, unpack

SCRIPT = Path(__file__).parents[2] / "last_release_orders.py"
KINDS = ("sqlite", "postgresql")
STATES = {"approved": "completed"}
# From which revision on a release names shops, so that it is held to the policies from its first start.
HELD_FROM = "0017"
Taken = dict[str, tuple[str, dict[str, str]]]


def newest(folder: Path) -> str:
    """The revision that a release's own code ends at."""
    return max(file.name[1:5] for file in folder.glob("infra/migrations/versions/v[0-9]*.py"))


def test_the_last_release_is_the_one_before_our_newest_revision(tmp_path: Path) -> None:
    assert newest(unpack(LAST, tmp_path)) == known()[-2], "move LAST up in tests/processes/last_release.py"


@pytest.mark.parametrize(
    ("clone", "ci", "ends"),
    [
        ("whole", "true", pytest.fail.Exception),
        ("whole", "", pytest.skip.Exception),
        ("none", "true", pytest.skip.Exception),
    ],
)
def test_in_ci_a_whole_clone_has_to_have_the_commit(
    clone: str, ci: str, ends: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if clone == "whole":
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(last_release, "REPOSITORY", tmp_path)
    monkeypatch.setenv("CI", ci)
    with pytest.raises(ends):
        last_release.unpack("0" * 40, tmp_path)


@pytest.fixture(scope="module", params=[LAST, OLDEST], ids=["last", "oldest"])
def taken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgresql: Any) -> Taken:
    """Databases in which a release took orders: their URLs, and the orders by what became of them.
    On tables of ours (`sqlite-ours`), and on its own, migrated afterwards (`sqlite-migrated`)."""
    folder = unpack(request.param, tmp_path_factory.mktemp("last_release"))
    last = newest(folder)
    urls = dict[str, str]()
    for when, revision in (("ours", "head"), ("migrated", last)):
        urls[f"sqlite-{when}"] = f"sqlite:///{folder / when}.db"
        urls[f"postgresql-{when}"] = postgresql.create(f"release_{request.param}_{when}")
        for kind in KINDS:
            migrate(urls[f"{kind}-{when}"], last)  # as at an upgrade: it changes nothing of who is held
            migrate(urls[f"{kind}-{when}"], revision)
    ran = subprocess.run(
        [sys.executable, SCRIPT, folder / "home", *urls.values()],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    for kind in KINDS:
        assert migrate(urls[f"{kind}-migrated"], "head") == (last, known()[-1])
    for when in ("ours", "migrated"):
        hold(urls[f"postgresql-{when}"], already=last >= HELD_FROM)
    orders = json.loads(ran.stdout.splitlines()[-1])
    return {name: (url, made) for (name, url), made in zip(urls.items(), orders, strict=True)}


def migrate(url: str, revision: str) -> tuple[str, str]:
    database = Database(url)
    try:
        return database.migrate(revision)
    finally:
        database.close()


def hold(url: str, *, already: bool) -> None:
    """The step after the upgrade of a release that named no shop: `saycart migrate --row-security on`."""
    database = Database(url)
    assert (database.row_security().fault is None) is already
    database.enforce_row_security(on=True)
    assert database.row_security().fault is None
    database.close()


@pytest.mark.parametrize("when", ["ours", "migrated"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_release_took_is_read_and_goes_on(kind: str, when: str, taken: Taken, tmp_path: Path) -> None:
    url, orders = taken[f"{kind}-{when}"]
    with running(tmp_path, url) as world:
        for became, order_id in orders.items():
            assert world.parts.orders.get(order_id).state == STATES.get(became, became)
            assert world.http.get(f"/v1/orders/{order_id}").status_code == 200
            assert world.parts.orders.events(order_id)
        listed = {order["id"] for order in world.http.get("/v1/orders").json()["orders"]}
        assert listed == set(orders.values())
        assert world.http.get("/v1/reviews").json()["reviews"][0]["order_id"] == orders["in_review"]
        assert "saycart_database_up 1" in world.http.get("/metrics/database").text
        fold(world.parts)
        waiting = OrderStore(world.parts.database, EVERY_SHOP).due(limit=10, idle_s=0)
        assert {order for order, _ in waiting} == {orders["transcribed"], orders["decoded"]}
