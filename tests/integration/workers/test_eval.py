"""`saycart eval` reports bad rows and goes on; an interrupted run resumes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.cart import CartDraft
from schemas.menu import Menu
from services.decoding.wire_mask import PROBE_ANSWER
from tests.servers.staged_server import Answer, completion, is_probe, spelled, staged_server
from tests.waiting import until

TRAINED: Answer = (200, b'[{"id": 0}]')
MENU = REPOSITORY / "infra/samples/menus/harbor-coffee.json"
SHOP = Menu.parse(json.loads(MENU.read_text()))
LATTE = {"sku": "latte", "quantity": 2, "size": "L", "options": [{"group": "milk", "id": "oat"}]}


def row(name: str, said: str, *lines: dict[str, Any]) -> str:
    return json.dumps({"id": name, "utterance": said, "cart": {"lines": list(lines)}})


PLAIN, SMALL, UNSERVED = (
    "two large lattes with oat milk please",
    "a small mocha",
    "hmm something nice I guess or rather not",
)
GOLD = [
    row("one", PLAIN, LATTE),
    '{"id": "half a row", "utt',
    row("countless", PLAIN, {**LATTE, "quantity": "two"}),
    row("one", PLAIN, LATTE),
    row("open", UNSERVED),
    row("overfull", PLAIN, {**LATTE, "options": [{"group": "milk", "id": f"o{n}"} for n in range(40)]}),
    row("last", PLAIN, LATTE),
]


def written(line: dict[str, Any]) -> Answer:
    draft = CartDraft.model_validate({"lines": [{"kind": "item", "heard": "this", **line}]})
    return completion(spelled(draft, SHOP))


LATTES, ONE_MOCHA = written(LATTE), written({"sku": "mocha", "quantity": 1, "size": "S"})


def answer(body: dict[str, Any]) -> Answer:
    """Answer as a decode server that fails for one order. (The command would wait for one that is down.)"""
    if is_probe(body):
        return completion(PROBE_ANSWER)
    said = body["messages"][-1]["content"]
    if UNSERVED in said:
        return 503, b""
    return ONE_MOCHA if SMALL in said else LATTES


class Evaluation:
    """The command on a gold file with a scripted decode server."""

    def __init__(self, folder: Path, llm_url: str, gold: Sequence[str] = GOLD) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.llm_url = folder, llm_url
        self.gold, self.out = folder / "gold.jsonl", folder / "out.jsonl"
        self.gold.write_text("\n".join(gold) + "\n")

    def run(self) -> subprocess.CompletedProcess[str]:
        with self.started() as running:
            out, err = running.communicate(timeout=120)
        return subprocess.CompletedProcess(running.args, running.returncode, out, err)

    def started(self) -> subprocess.Popen[str]:
        home = str(self.folder / "home")
        words = ["eval", "--menu", MENU, "--gold", self.gold, "--out", self.out, "--limit", "99"]
        words += ["--report", self.folder / "report"]
        return subprocess.Popen(
            [sys.executable, "-m", "services.cli.main", *map(str, words)],
            env={**os.environ, "SAYCART_LLM_URL": self.llm_url, "SAYCART_HOME": home, "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "report" / "figures.json").read_text())
        return found

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in map(json.loads, self.out.read_text().splitlines())}


@pytest.fixture
def evaluation(tmp_path: Path) -> Iterator[Evaluation]:
    with staged_server(answer) as server:
        server.adapters = TRAINED
        yield Evaluation(tmp_path, server.url)


def test_a_bad_row_is_reported(evaluation: Evaluation) -> None:
    done = evaluation.run()
    assert done.returncode == 0, done.stderr
    rows = evaluation.rows()
    assert list(rows) == ["line 2", "line 3", "line 4", "one", "open", "overfull", "last"]
    assert "JSONDecodeError" in rows["line 2"]["error"]
    assert "another row has the id 'one'" in rows["line 4"]["error"]
    assert rows["open"]["decision"] == "review"
    assert rows["open"]["error"].startswith("engine_unavailable")
    found = evaluation.figures()
    assert (found["rows"], found["broken_rows"], found["errors"]) == (4, 3, 4)
    assert (found["exact_carts"], found["reviews"], found["silent_errors"]) == (3, 1, 1)


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    """It is killed while waiting for the decode server in the middle, and restarted."""
    plain = [row(f"row {n}", PLAIN if n % 2 else SMALL, LATTE) for n in range(12)]
    asked, ended = threading.Event(), threading.Event()

    def keeps_waiting(body: dict[str, Any]) -> Answer:
        if UNSERVED in body["messages"][-1]["content"]:
            asked.set()
            ended.wait(60)
        return answer(body)

    with staged_server(keeps_waiting) as server:
        server.adapters = TRAINED
        evaluation = Evaluation(tmp_path, server.url, [*plain[:6], GOLD[4], *plain[6:]])
        with evaluation.started() as running:
            assert asked.wait(60)
            until(lambda: len(evaluation.out.read_text().splitlines()) == 6)
            running.kill()
            running.communicate()
        before = evaluation.out.read_text().splitlines()
        ended.set()
        again = evaluation.run()
    assert ": 6 orders" in again.stdout.replace("\n", " ")
    # Rows include exact times, so nothing was computed again.
    assert evaluation.out.read_text().splitlines()[:6] == before
    assert (len(evaluation.rows()), evaluation.figures()["exact_carts"]) == (13, 7)
