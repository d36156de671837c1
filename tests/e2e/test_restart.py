"""Killed in the middle and started again, the stack finishes every accepted order, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from infra.private import read_key
from infra.settings import Settings
from services.cli.client import bearer
from services.cli.samples import load_menus
from services.workers.children import as_environment
from tests.processes.running_stack import RECORDINGS, SETTLED, gold_rows, settings_in

pytestmark = [pytest.mark.models, pytest.mark.stack]
READY_S, SETTLE_S = 180, 300


def started(environment: dict[str, str], url: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-m", "services.cli.main", "run"],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        assert child.poll() is None, "the stack ended by itself"
        try:
            if httpx.get(f"{url}/readyz", timeout=3, trust_env=False).json()["status"] == "ok":
                return child
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise AssertionError("the stack was not ready in time")


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
            first = client.get(f"/v1/orders/{accepted[0]}", params={"wait": 30}).json()
            assert first["status"] in SETTLED | {"processing"}
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
            # All at once: the stream of an order in review is given up on after three seconds of silence.
            with ThreadPoolExecutor(len(accepted)) as pool:
                told = list(pool.map(lambda order_id: _events(client, order_id), accepted))
            for types in map(Counter, told):
                for once in ("transcribed", "decoded"):
                    assert types[once] == 1, types
                assert types["accepted"] + types["doubted"] == 1, types
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(timeout=60)


def key(settings: Settings) -> dict[str, str]:
    """The stack's own, which `saycart run` keeps in the home."""
    return bearer(read_key(settings.home))


def _events(client: httpx.Client, order_id: str) -> list[str]:
    """Types of all events so far; a settled order's stream ends, one in review goes on."""
    types: list[str] = []
    with client.stream("GET", f"/v1/orders/{order_id}/events", timeout=httpx.Timeout(30, read=3)) as stream:
        try:
            for line in stream.iter_lines():
                types += [line.split(":", 1)[1].strip()] if line.startswith("event:") else []
        except httpx.ReadTimeout:
            pass
    return types
