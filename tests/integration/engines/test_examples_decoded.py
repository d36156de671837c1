"""The examples asked of a real model, the smallest: what it says is its own, and always whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.settings import settings
from services.engines.servers.embedded import decode_server
from services.examples import __main__ as examples
from services.examples.conjugation import __main__ as command
from services.examples.conjugation import tutor_run
from services.examples.conjugation.schema import FORMS, Found, NoForm
from services.examples.conjugation.tutor import put_right
from services.examples.registered import EXAMPLES

MODEL = "smollm2-135m-instruct-q4_1.gguf"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a server whose key the settings have, as a command finds it that is told the address alone."""
    config = settings().model_copy(update={"llm_url": "", "llm_model": MODEL, "reader": "off"})
    with pytest.MonkeyPatch.context() as patch, decode_server(config) as here:
        patch.setattr("services.examples.serving.settings", lambda: here)
        yield here.llm_url


def test_the_command_says_what_to_do_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["She wrote a book", "--url", "http://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err


def test_the_command_tells_the_form_in_one_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["She wrote a book", "--url", url]) == 0
    said = capsys.readouterr().out.strip()
    assert said in {command.told(Found(root=one)) for one in (NoForm(verb=None), *FORMS)}


def test_every_example_in_short_fails_in_no_form(url: str, tmp_path: Path) -> None:
    """What `make examples` asks in an hour, of one row each and under the mask alone."""
    argv = ["--url", url, "--model", MODEL, "--out", str(tmp_path), "--limit", "1", "--masked-only"]
    assert examples.main([*(one.name for one in EXAMPLES), *argv]) == 0
    for one in EXAMPLES:
        (file,) = tmp_path.glob(f"*/{one.name}/figures.json")
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        assert set(cells) == {f"{task.name}.masked" for task in one.tasks}
        assert {(cell["rows"], cell["form_failures"]) for cell in cells.values()} == {(1, 0)}


def test_the_tutor_never_fails_in_form_and_asks_no_row_twice(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = json.loads(tutor_run.GOLD.read_text(encoding="utf-8").partition("\n")[0])
    argv = ["--url", url, "--model", MODEL, "--out", str(tmp_path), "--limit", "1", "--masked-only"]
    assert tutor_run.main(argv) == 0
    kept = tmp_path / f"llama.cpp-{Path(MODEL).stem}" / "conjugation" / "tutor.masked.jsonl"
    line = kept.read_text(encoding="utf-8")
    answer = json.loads(line)
    assert (answer["id"], answer["failure"]) == (row["id"], "")
    assert answer["texts"]
    lesson = answer["lesson"]
    corrected = put_right(row["text"], lesson["replace"], lesson["by"]) if lesson["error"] else row["text"]
    assert lesson["corrected"] == corrected

    kept.with_name("tutor.prompt.jsonl").write_text(line, encoding="utf-8")  # without a mask it takes long
    assert examples.main(["tutor", *(one for one in argv if one != "--masked-only")]) == 0
    assert kept.read_text(encoding="utf-8") == line, "nothing was asked again"
    figures = json.loads((kept.parent / "tutor-figures.json").read_text(encoding="utf-8"))
    assert figures["masked"]["failures"] == 0
    assert set(figures) == {"masked", "prompt"}

    capsys.readouterr()
    assert command.main(["--tutor", row["text"], "--url", url]) == 0
    said = capsys.readouterr().out.strip()
    assert said == "No error found." or said.endswith(lesson["corrected"])
