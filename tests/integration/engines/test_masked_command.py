"""`saycart masked`, against a running API."""

# ruff: noqa: F811  (fixtures of masked_world.py, requested by name)
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.settings import settings
from services.cli.main import app
from tests.integration.api_world import World
from tests.integration.masked_world import REFUSED, SAID, held, says, server, shared, world  # noqa: F401
from tests.servers.staged_server import StagedServer, completion


@pytest.fixture
def command(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`saycart masked`, with key and URL of the running API."""
    monkeypatch.setenv("SAYCART_KEY", world.people["ada"]["Authorization"].removeprefix("Bearer "))
    settings.cache_clear()
    yield lambda *words: CliRunner().invoke(
        app, ["masked", *words, "--url", world.url], env={"COLUMNS": "200"}
    )
    settings.cache_clear()


def test_the_command_lists_describes_and_runs_tasks(command: Any, server: StagedServer) -> None:
    listed = command().stdout
    assert "ticket" in listed
    assert "Yes, no or maybe" in listed
    assert json.loads(command("ticket").stdout)["schema"]["properties"]["priority"]
    assert json.loads(command("--json").stdout)["tasks"][1]["name"] == "word"
    shown = command("ticket", SAID).stdout
    assert '"priority": "high"' in shown
    assert "22 tokens" in shown
    whole = json.loads(command("ticket", SAID, "--json", "--temperature", "0.5", "--seed", "3").stdout)
    assert whole["answer"]["needs_human"] is True
    assert (server.bodies[-1]["temperature"], server.bodies[-1]["seed"]) == (0.5, 3)


def test_the_command_prints_errors_as_sentences(command: Any, server: StagedServer) -> None:
    says(server, completion(REFUSED))
    refused = command("ticket", SAID)
    assert refused.exit_code == 1
    assert "422" in refused.stderr
    assert "/: Value error, nobody looks at …" in refused.stderr
    unknown = command("tickets", SAID)
    assert unknown.exit_code == 1
    assert "ticket, word" in unknown.stderr
    assert command("ticket", "").exit_code == 1
