"""Killed in the middle and started again, the stack finishes every accepted order, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from infra.secret import read_key
from infra.settings import Settings
from infra.sql.database import Database
from services.cli.client import bearer
from services.cli.samples import load_menus
from services.storage.orders.store import OrderStore
from services.workers.children import as_environment
from tests.processes.running_stack import RECORDINGS, SETTLED, gold_rows, settings_in
from tests.waiting import answers, until

pytestmark = [pytest.mark.models, pytest.mark.stack]
READY_S, SETTLE_S = 180, 300


def started(environment: dict[str, str], url: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-m", "services.cli.main", "run"],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )

    def is_ready() -> bool:
        assert child.poll() is None, "the stack ended by itself"
        return answers(f"{url}/readyz")

    until(is_ready, READY_S, every_s=0.5)
    return child


def test_every_accepted_order_is_finished_once_after_a_kill(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "home", llm_model="smollm2-135m-instruct-q4_1.gguf")
    url = f"http://127.0.0.1:{settings.api_port}"
    # A short lease, so that what died in a worker's hands is taken up soon.
    environment = as_environment(settings.model_copy(update={"stage_lease_s": 10.0, "sweep_s": 3.0}))
    child = started(environment, url)
    accepted: list[str] = []
    try:
        with httpx.Client(base_url=url, headers=key(settings), timeout=30, trust_env=False) as client:
            for menu_id, menu in load_menus().items():
                client.put(f"/v1/menus/{menu_id}", json=menu).raise_for_status()
            for row in gold_rows()[:4]:
                answer = client.post(
                    "/v1/orders",
                    files={"audio": (RECORDINGS / row["audio"]).read_bytes()},
                    data={"menu": row["menu"]},
                )
                assert answer.status_code == 202
                accepted.append(answer.json()["id"])
            until(lambda: client.get(f"/v1/orders/{accepted[0]}").json()["status"] != "queued", SETTLE_S)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    child = started(environment, url)
    try:
        with httpx.Client(base_url=url, headers=key(settings), timeout=60, trust_env=False) as client:
            deadline = time.monotonic() + SETTLE_S
            for order_id in accepted:
                while (order := client.get(f"/v1/orders/{order_id}", params={"wait": 20}).json())[
                    "status"
                ] not in SETTLED:
                    assert time.monotonic() < deadline, order
                assert order["status"] in ("completed", "needs_review"), order
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(timeout=60)
    with closing(Database(settings.database)) as database:
        orders = OrderStore(database, "main")
        for order_id in accepted:
            types = Counter(event.type for event in orders.events(order_id))
            assert types["transcribed"] == types["decoded"] == 1, types
            assert types["accepted"] + types["doubted"] == 1, types


def key(settings: Settings) -> dict[str, str]:
    """The stack's own, which `saycart run` keeps in the home."""
    return bearer(read_key(settings.home))
