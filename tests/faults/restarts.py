"""On the product's own supervisor: rolling restarts under load, and kills under the real engines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from infra.processes.ports import any_free
from infra.processes.supervisor import Child, Restart
from infra.settings import Settings
from infra.sql.database import Database
from services.cli.client import bearer
from services.cli.samples import load_menus
from services.storage.base.tables import EventRow, ReviewRow
from services.storage.shops.menus import MenuStore
from services.workers.stack import Stack
from tests.credentials import UNLIMITED
from tests.faults.bench import Bench, settle
from tests.faults.judge import judge
from tests.faults.ledger import Ledger
from tests.faults.works import SECRET
from tests.processes.running_stack import RECORDINGS, gold_rows
from tests.servers.loopback import Handler, serving
from tests.stand_ins import CAFE, TESTER

RESTARTED = ("api", "transcribe", "decode", "sweeper", "courier")
KILLED = ("decode", "reader", "transcribe", "api")
REAL_ORDERS, REAL_KILLS, KILL_EVERY_S = 20, 8, 20.0


@dataclass(frozen=True)
class Running:
    """What the judge reads of a stack under the product's supervisor."""

    url: str
    headers: dict[str, str]
    database: Database
    inbox: Path
    runs: Path


class ShortStack(Stack):
    """The product's stack with stand-in engines, which may be restarted as often as one likes."""

    def _children(self, *args: Any) -> list[Child]:
        return [
            replace(
                child,
                argv=tuple(
                    "tests.faults.worker" if word == "services.workers.app" else word for word in child.argv
                ),
                restart=Restart(delay_s=0.1, quick_deaths=1_000_000),
            )
            for child in super()._children(*args)
        ]


def rolling(bench: Bench) -> dict[str, Any]:
    """Each part restarted again and again, all parts at the same time, under load: no error may be seen."""
    each = bench.size(50, 1)
    home = bench.folder / "rolling"
    home.mkdir()
    os.environ["FAULTS_RUNS"] = str(home / "runs")
    (home / "runs").touch()
    with _health() as llm, _received(home) as (receiver, inbox):
        free = {"max_backlog": 0, "client_backlog": 0, "shop_backlog": 0}
        stack = ShortStack(_settings(home, receiver, llm_url=llm, database_url=bench.url(), **free))
        with stack:
            running = Running(
                stack.base_url,
                bearer(stack.key),
                Database(stack.settings.database).everywhere(),
                inbox,
                home / "runs",
            )
            MenuStore(running.database, "main").put(CAFE, by=TESTER)
            ledger = Ledger(stack.base_url, bearer(stack.key), threads=3, pace_s=bench.pace_s or 0.3)
            ledger.start()
            began = time.monotonic()
            done, failures = _restart_all(stack, each)
            took = round(time.monotonic() - began, 1)
            ledger.finish()
            errors = sum(number for answer, number in ledger.answers.items() if answer != "202")
            found = {**settle(running), **judge(running, ledger)}
            running.database.close()
            asked = {"restarts": dict(done), "restarts took s": took, "restarts that failed": failures}
            return {**asked, "errors seen by clients": errors, **found}


def engines(bench: Bench) -> dict[str, Any]:
    """The shipped recordings through real Whisper and the real language model, whose processes are killed."""
    home = bench.folder / "engines"
    home.mkdir()
    rows = gold_rows()
    orders, kills = bench.size(REAL_ORDERS, 4), bench.size(REAL_KILLS, 2)

    def body(number: int, metadata: dict[str, Any]) -> dict[str, Any]:
        row = rows[number % len(rows)]
        audio = (RECORDINGS / row["audio"]).read_bytes()
        return {"files": {"audio": audio}, "data": {"menu": row["menu"], "metadata": json.dumps(metadata)}}

    with _received(home) as (receiver, inbox):
        stack = Stack(_settings(home, receiver, stage_lease_s=15.0))
        with stack:
            runs = home / "runs"
            runs.touch()
            running = Running(
                stack.base_url, bearer(stack.key), Database(stack.settings.database).everywhere(), inbox, runs
            )
            with httpx.Client(
                base_url=stack.base_url, headers=bearer(stack.key), timeout=60, trust_env=False
            ) as client:
                for menu_id, menu in load_menus().items():
                    client.put(f"/v1/menus/{menu_id}", json=menu).raise_for_status()
            ledger = Ledger(stack.base_url, bearer(stack.key), threads=2, body=body)
            ledger.start(range(orders))
            done = Counter[str]()
            for number in range(kills):
                time.sleep(KILL_EVERY_S)
                part = KILLED[number % len(KILLED)]
                if (pid := stack.pid(part)) is not None:
                    os.kill(pid, signal.SIGKILL)
                    done[f"kill {part}"] += 1
            last = time.monotonic()
            ledger.join()
            found = {**_settled_slowly(running, last), **judge(running, ledger), **_whys(running.database)}
            running.database.close()
            # Stage runs are counted by the stand-in worker only.
            return {"faults": dict(done)} | {k: v for k, v in found.items() if "runs" not in k}


def _whys(database: Database) -> dict[str, dict[str, int]]:
    """Why orders are before a human, and why stages were put back to be tried again."""
    with database.read() as session:
        doubts = Counter(reason for given in session.scalars(select(ReviewRow.reasons)) for reason in given)
        retries = session.scalars(select(EventRow.detail).where(EventRow.type == "retry"))
        codes = Counter(str(detail["code"]) for detail in retries)
    return {"reasons of review": dict(doubts), "put back for": dict(codes)}


def _settled_slowly(running: Running, since: float) -> dict[str, Any]:
    """Real engines take seconds for each order: wait three times as long as for the others."""
    for _ in range(3):
        found = settle(running, since)
        if found["messages drained s"] is not None:
            break
    return found


def _restart_all(stack: Stack, each: int) -> tuple[Counter[str], list[str]]:
    """One thread a part. What was restarted how often, and which restarts failed."""
    done, failures = Counter[str](), list[str]()

    def again_and_again(part: str) -> None:
        for _ in range(each):
            try:
                stack.restart(part)
                done[part] += 1
            except Exception as error:
                failures.append(f"{part}: {error}")

    threads = [threading.Thread(target=again_and_again, args=(part,)) for part in RESTARTED]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done, failures


def _settings(home: Path, receiver: int, **changes: Any) -> Settings:
    return Settings(
        home=home,
        api_port=any_free(),
        webhook_url=f"http://127.0.0.1:{receiver}/",
        webhook_secret=SECRET,
        webhook_wait_cap_s=5.0,
        **{**UNLIMITED, "stage_lease_s": 6.0, "sweep_s": 2.0, **changes},
    )


@contextmanager
def _received(home: Path) -> Iterator[tuple[int, Path]]:
    """A receiver on a free port; the port and its file."""
    port, inbox = any_free(), home / "inbox.jsonl"
    argv = [sys.executable, "-m", "tests.servers.receiver", "--port", str(port)]
    child = subprocess.Popen(
        [*argv, "--secret", SECRET, "--out", str(inbox)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield port, inbox
    finally:
        child.terminate()
        child.wait(10)


@contextmanager
def _health() -> Iterator[str]:
    """A server that says that a decode server is well: the readiness of a stack with stand-ins asks."""

    class Well(Handler):
        def do_GET(self) -> None:
            self.answer(200)

    with serving(Well) as url:
        yield url
