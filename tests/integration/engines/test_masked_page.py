"""The Python and curl examples of docs/masked.md, unchanged."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from infra.settings import REPOSITORY
from tests.clients.packages import CLIENTS, ENGINE, ran
from tests.clients.service import key_of
from tests.integration.api_world import running
from tests.servers.staged_server import model, staged_server

TICKET = {"priority": "high", "needs_human": True, "note": "call back"}


def test_the_examples_on_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (REPOSITORY / "docs/masked.md").read_text()
    call, grammar, tasks = re.findall(r"```python\n(.+?)```", text, re.DOTALL)
    [curl] = re.findall(r"^curl .+\n .+$", text, re.MULTILINE)
    (tmp_path / "our_tasks.py").write_text(tasks)
    monkeypatch.syspath_prepend(tmp_path)
    with (
        staged_server(model(json.dumps(TICKET, separators=(",", ":")))) as engine,
        running(tmp_path, llm_url=engine.url, masked_tasks="our_tasks:TASKS") as api,
    ):
        path = f"{tmp_path}:{CLIENTS / 'masked'}:{REPOSITORY}"
        script = f"{call.replace(ENGINE, engine.url)}{grammar}print(ticket.model_dump_json())"
        called = ran(sys.executable, "-c", script, cwd=tmp_path, PYTHONPATH=path, NO_PROXY="*")
        asked = ran("bash", "-c", curl.replace("localhost:8420", api.url), cwd=tmp_path, KEY=key_of(api))
    assert json.loads(called) == TICKET
    assert json.loads(asked)["answer"] == TICKET
