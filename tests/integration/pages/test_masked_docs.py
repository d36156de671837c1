"""The page on masked calls: every example runs, every row of its tables is what the code does."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import UUID4, BaseModel, Field, create_model
from typer.testing import CliRunner

from infra.settings import REPOSITORY, settings
from schemas import errors
from schemas.masked import MaskedAnswer, MaskedRequest, MaskedTask
from services.api.problems import TITLES, status_of
from services.cli.main import app
from services.engines.decoding.decoder import PROBE_WORD
from services.masked.bounds import Bounds
from services.masked.output import OutputType, output_type
from tests.integration.api_world import World, running
from tests.servers.staged_server import Answer, StagedServer, completion, is_probe, staged_server

PAGE = (REPOSITORY / "docs/masked.md").read_text(encoding="utf-8")
SHOWN = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
CURL = next(block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "curl" in block)
OUR_TASKS = next(
    code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "# our_tasks" in code
)


class Pair(BaseModel):
    name: Annotated[str, Field(max_length=10)]
    value: bool


class Tree(BaseModel):
    below: Annotated[list[Tree], Field(max_length=2)]


class Leaf(BaseModel):
    value: bool


class Branch(BaseModel):
    below: Annotated[list[Leaf], Field(max_length=2)]


def as_shown(body: dict[str, Any]) -> Answer:
    """A server whose model answers what the page shows."""
    if is_probe(body):
        return completion(PROBE_WORD)
    return completion(json.dumps(SHOWN["answer"], separators=(",", ":")))


@pytest.fixture(scope="module")
def server() -> Iterator[StagedServer]:
    with staged_server(as_shown) as staged:
        yield staged


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, server: StagedServer) -> Iterator[World]:
    """An API with the page's own tasks."""
    module = ModuleType("our_tasks")
    sys.modules["our_tasks"] = module
    _run(OUR_TASKS, module.__dict__)
    try:
        with running(
            tmp_path_factory.mktemp("docs"), llm_url=server.url, masked_tasks="our_tasks:TASKS"
        ) as api:
            yield api
    finally:
        del sys.modules["our_tasks"]


@pytest.fixture
def at_hand(server: StagedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SAYCART_LLM_URL", server.url)
    monkeypatch.setenv("SAYCART_HOME", str(tmp_path))
    settings.cache_clear()
    yield
    settings.cache_clear()


def _run(code: str, space: dict[str, Any]) -> None:
    """As a file of its own would run, without this one's `annotations`."""
    exec(compile(code, "docs/masked.md", "exec", dont_inherit=True), space)


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table after a heading."""
    table = PAGE.split(f"## {heading}\n", 1)[1].split("\n|", 1)[1].split("\n\n")[0]
    lines = f"|{table}".splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def kind(cell: str) -> Any:
    names = {
        **globals(), "Path": Path, "Any": Any, "UUID": UUID, "UUID4": UUID4, "Decimal": Decimal,
        "date": date, "datetime": datetime, "Literal": Literal,
    }  # fmt: skip
    return eval(cell.strip("`").replace("\\|", "|"), names)  # the page's own


@pytest.mark.usefixtures("at_hand")
def test_the_python_runs(server: StagedServer) -> None:
    server.bodies.clear()
    space: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        if code != OUR_TASKS:
            _run(code, space)
    assert space["ticket"].model_dump() == SHOWN["answer"]
    assert space["tokens"] == 22
    drawn = server.bodies[-1]
    assert (drawn["temperature"], drawn["seed"], drawn["logprobs"]) == (0.7, 5, True)
    assert space["move"].mask.accepts("e2-e4")
    assert not space["move"].mask.accepts("e2-e9")
    letter = create_model("Letter", text=(str, ...), pages=(list[int], ...), share=(float, ...))
    given = re.search(r"output_type\(Letter, (Bounds\([^)]*\))\)", PAGE)
    assert given is not None
    assert output_type(letter, eval(given[1], {"Bounds": Bounds})).schema


def test_the_http_call_is_answered_as_shown(world: World) -> None:
    words = shlex.split(CURL.replace("\\\n", " "))
    body = json.loads(words[words.index("-d") + 1])
    path = next(word for word in words if word.startswith("localhost")).partition("/")[2]
    answer = world.http.post(f"/{path}", json=body)
    assert answer.status_code == 200
    assert answer.json()["answer"] == SHOWN["answer"]
    assert answer.json().keys() == SHOWN.keys()
    assert answer.json()["engine"].keys() == SHOWN["engine"].keys()
    MaskedAnswer.model_validate(SHOWN)
    assert {row[0].strip("`") for row in rows("By HTTP and on the command line")} == set(
        MaskedRequest.model_fields
    )
    told = PAGE.split("`GET /v1/masked/{name}` shows one:")[1].split("\n\n")[0]
    for field in MaskedTask.model_fields.values():
        if field.serialization_alias:
            assert f"`{field.serialization_alias}`" in told
    assert all(f"`{name}`" in told for name in ("about", "version", "form", "longest_bytes"))


def test_the_commands_run(world: World, at_hand: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYCART_KEY", world.people["ada"]["Authorization"].removeprefix("Bearer "))
    monkeypatch.setenv("SAYCART_MASKED_TASKS", "our_tasks:TASKS")
    settings.cache_clear()
    lines = [line for line in PAGE.splitlines() if line.startswith("saycart masked")]
    assert len(lines) == 5
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        if "--here" not in words:
            words += ["--url", world.url]
        done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.stderr
        assert "ticket" in done.stdout or SHOWN["answer"]["note"] in done.stdout


@pytest.mark.parametrize("row", rows("Which models can be masked"), ids=lambda row: row[0])
def test_what_the_table_refuses_is_refused_and_what_it_offers_is_not(row: list[str]) -> None:
    refused, _, instead = map(str, row)
    with pytest.raises(errors.UnmaskableSchema):
        OutputType.of(create_model("Model", x=(kind(refused), ...)))
    assert OutputType.of(create_model("Model", x=(kind(instead), ...))).mask.longest


@pytest.mark.parametrize("row", rows("Errors"), ids=lambda row: row[0])
def test_errors_are_those_of_the_table(row: list[str]) -> None:
    code, status, name, _ = (cell.strip("`") for cell in row)
    kind: Any = getattr(errors, name)
    assert (kind.code, code) == (code, kind.code)
    assert code in TITLES
    assert status_of(kind.__new__(kind)) == int(status)
