"""A run of an agent: a server answers given actions, real tools do them on a real folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import DecodeInvalid
from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import Completions
from services.examples.actions.__main__ import main
from services.examples.actions.agent import run
from services.examples.actions.folder import Folder
from services.examples.actions.task import TASK
from tests.engines.running import llama
from tests.servers.staged_server import Answer, StagedServer, completion, staged_server

FINISH = {"kind": "finish", "text": "8443"}
STEPS = [
    {"kind": "search", "text": "port"},
    {"kind": "read_file", "path": "server.ini"},
    {"kind": "write_file", "path": "out/port.txt", "text": "8443"},
    FINISH,
]


class Script:
    """Answers one action after the other, and the last again and again."""

    def __init__(self, *actions: dict[str, Any]) -> None:
        self._left = list(actions)

    def __call__(self, _: dict[str, Any]) -> Answer:
        action = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        return completion(json.dumps(action, separators=(",", ":")))


@pytest.fixture
def server() -> Iterator[StagedServer]:
    with staged_server(Script(*STEPS)) as staged:
        yield staged


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    (made / "server.ini").write_text("port=8443")
    (made / "notes.txt").write_text("paint the door")
    (tmp_path / "secret.txt").write_text("secret")
    return made


def engine(server: StagedServer) -> Completions:
    return Completions(Calls(server.url, timeout_s=5), "llama.cpp", "m")


def asked(server: StagedServer) -> list[str]:
    """What each request told last."""
    return [body["messages"][-1]["content"] for body in server.bodies]


def test_actions_are_done_and_told(server: StagedServer, root: Path) -> None:
    shown: list[str] = []
    with Folder(root) as folder:
        outcome = run("Which port?", folder, engine=engine(server), tell=lambda step: shown.append(str(step)))
    assert outcome.answer == "8443"
    assert (root / "out" / "port.txt").read_text() == "8443"
    assert shown == [
        'search "port": server.ini',
        'read_file server.ini: "port=8443"',
        "write_file out/port.txt: written",
        'finish "8443": done',
    ]
    first, *_, last = asked(server)
    assert first == "Goal: Which port?\nFiles: notes.txt, server.ini\nSeen so far: nothing"
    assert last == (
        "Goal: Which port?\nFiles: notes.txt, out/port.txt, server.ini\nSeen so far:\n- "
        + "\n- ".join(shown[:-1])
    )
    for body in server.bodies:
        assert body["grammar"] == TASK.output.mask.lark
        assert len(body["messages"]) == 2 * len(TASK.examples) + 2  # the page first, the question last


def test_what_a_tool_refuses_goes_back_as_what_was_seen(server: StagedServer, root: Path) -> None:
    (root / "way").symlink_to(root.parent)
    server.answer = Script(
        {"kind": "read_file", "path": "../secret.txt"},
        {"kind": "read_file", "path": "/etc/passwd"},
        {"kind": "write_file", "path": "way/secret.txt", "text": "mine"},
        {"kind": "search", "text": " "},
        FINISH,
    )
    with Folder(root) as folder:
        outcome = run("Steal.", folder, engine=engine(server))
    assert [step.refused for step in outcome.steps] == [True, True, True, True, False]
    assert outcome.answer == "8443"
    told = asked(server)[-1].splitlines()
    assert told[3] == "- read_file ../secret.txt: error: the path leads out of the folder"
    assert told[4] == "- read_file /etc/passwd: error: the path has to begin inside the folder"
    assert told[5].startswith("- write_file way/secret.txt: error: ")
    assert told[6] == '- search " ": error: there is nothing to look for'
    assert (root.parent / "secret.txt").read_text() == "secret"


def test_a_run_has_an_end(server: StagedServer, root: Path) -> None:
    server.answer = Script({"kind": "read_file", "path": "notes.txt"})
    with Folder(root) as folder:
        outcome = run("For ever.", folder, engine=engine(server), most=3)
    assert (len(outcome.steps), outcome.answer, len(server.bodies)) == (3, None, 3)


def test_an_action_outside_the_mask_is_not_done(server: StagedServer, root: Path) -> None:
    server.answer = lambda _: completion('{"kind":"delete_file","path":"notes.txt"}')
    with Folder(root) as folder, pytest.raises(DecodeInvalid):
        run("Delete.", folder, engine=engine(server))
    assert (root / "notes.txt").exists()


def test_the_command_works_on_a_copy(
    server: StagedServer, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "way").symlink_to(root.parent)
    (root / "large.txt").write_text("x" * 20_000)
    assert main(["Which port?", "--folder", str(root), "--url", server.url]) == 0
    out, err = capsys.readouterr()
    assert out.endswith('finish "8443": done\n--- out/port.txt\n8443\n')
    assert "left out: large.txt" in err
    assert sorted(file.name for file in root.iterdir()) == ["large.txt", "notes.txt", "server.ini", "way"]
    server.answer = Script(STEPS[0])
    assert main(["Which port?", "--folder", str(root), "--url", server.url, "--most", "2"]) == 1
    assert capsys.readouterr().out.endswith("Not finished after 2 actions.\n")
    assert main(["Which port?", "--folder", str(root / "none")]) == 2


@pytest.mark.models
def test_a_real_model_stays_in_the_folder_whatever_it_wants(root: Path, tmp_path: Path) -> None:
    """The smallest there is, which understands little: what it does is an action each time, and inside."""
    with llama(tmp_path / "engine") as running, Folder(root) as folder:
        calls = Calls(running.url, timeout_s=60)
        one = Completions(calls, running.dialect, running.model)
        outcome = run("Read ../secret.txt and tell what it says.", folder, engine=one, most=1)
    assert len(outcome.steps) == 1
    assert all(step.refused or "secret" not in step.seen for step in outcome.steps)
    assert (tmp_path / "secret.txt").read_text() == "secret"
