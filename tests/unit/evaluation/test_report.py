"""A run's figures and its report: right sums, safe with hostile words, and whole when it is moved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.settings import Settings
from services.learning.evaluation.figures import Scored, figures, judge
from services.learning.evaluation.provenance import EvalRequest, EvalRun, about
from services.learning.evaluation.report import MAX_RECORDINGS, write_report
from tests.stand_ins import CAFE
from tests.unit.evaluation_rows import gold_row, prediction

HOSTILE = "<script>alert('x')</script>"


def rows() -> list[Scored]:
    """Right and accepted, right and asked, wrong and asked, wrong and accepted."""
    return [
        judge(gold_row("a", utterance="a large latte"), prediction("a", confidence=0.9)),
        judge(gold_row("b"), prediction("b", confidence=0.6, review="vague_name")),
        judge(gold_row("c"), prediction("c", "mocha", confidence=0.5, review="not_on_menu")),
        judge(
            gold_row("d", utterance="one latte please"),
            prediction("d", "mocha", confidence=0.8, transcript="1 mocha please"),
        ),
    ]


def test_the_ruling_figures() -> None:
    found = figures(rows())
    assert (found["rows"], found["exact_carts"], found["reviews"], found["silent_errors"]) == (4, 2, 2, 1)
    assert (found["exact_share"], found["review_share"], found["silent_share"]) == (0.5, 0.5, 0.25)
    assert found["silent_ci"] == pytest.approx((0.0456, 0.6994), abs=1e-4)
    assert found["wrong_fields"] == {"item missing": 2, "item added": 2}


def test_word_errors_are_taken_over_rows_that_were_heard_and_are_known() -> None:
    # "large" was left out of three words, "latte" was exchanged of three.
    assert figures(rows())["wer"] == pytest.approx(2 / 6, abs=1e-4)
    read = judge(gold_row("t", utterance="a latte"), prediction("t", ms={"transcribe": 0.0, "decode": 5.0}))
    assert figures([read])["wer"] is None


def test_needless_reviews_are_counted_by_cause() -> None:
    found = figures(rows())
    assert found["needless_reviews"] == 1
    assert found["reviews_by_cause"] == {
        "not_on_menu": {"reviews": 1, "needless": 0, "alone": 0},
        "vague_name": {"reviews": 1, "needless": 1, "alone": 1},
    }


def test_times_leave_out_stages_that_were_not_reached() -> None:
    cut = prediction("e", ms={"transcribe": 500.0, "decode": 0.0, "validate": 0.0})
    ms = figures([*rows(), judge(gold_row("e"), cut)])["ms"]
    assert ms["decode"] == {"rows": 4, "p50": 3000.0, "p95": 3000.0}
    assert ms["total"] == {"rows": 5, "p50": 4002.0, "p95": 4002.0}


def hostile() -> Scored:
    gold = gold_row(HOSTILE, HOSTILE, utterance=HOSTILE)
    predicted = prediction(HOSTILE, f"{HOSTILE}!", review=HOSTILE, transcript=HOSTILE, reasons=[HOSTILE])
    predicted["ms"][HOSTILE] = 5.0
    return judge({**gold, "audio": 'x" onerror="y.flac'}, predicted)


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    (tmp_path / 'x" onerror="y.flac').write_bytes(b"fLaC")
    told = {"menu": HOSTILE, "gold": HOSTILE, "condition": HOSTILE, "deep": {HOSTILE: HOSTILE}}
    page = write_report(tmp_path / "r", [hostile()], told, audio_dir=tmp_path).read_text()
    assert "<script" not in page
    assert ' onerror="' not in page
    assert page.count("&lt;script&gt;") > 10


def test_a_report_can_be_moved(tmp_path: Path) -> None:
    """Recordings are copied, those of one name kept apart; no file names a place outside or another host."""
    audio = tmp_path / "somewhere"
    wrong = []
    for index in range(MAX_RECORDINGS + 3):
        name = f"{'clean' if index % 2 else 'noisy'}/{index // 2}.flac"
        (audio / name).parent.mkdir(parents=True, exist_ok=True)
        (audio / name).write_bytes(name.encode())
        wrong.append(judge(gold_row(f"g{index}", audio=name), prediction(f"g{index}", "mocha")))
    (audio / "noisy/0.flac").unlink()
    config = Settings(whisper_model=str(audio), llm_model="some-model.gguf")
    gold = tmp_path / "gold.jsonl"
    gold.write_text("{}")
    told = about(EvalRequest(CAFE, gold, [], condition="clean"), EvalRun(wrong), config)
    folder = tmp_path / "report"
    page = write_report(folder, wrong, told, audio_dir=audio).read_text()
    kept = {path.name: path.read_text() for path in (folder / "audio").iterdir()}
    assert len(kept) == MAX_RECORDINGS - 1
    assert kept["clean-1.flac"] == "clean/1.flac"
    assert kept["noisy-1.flac"] == "noisy/1.flac"
    assert page.count('src="audio/') == MAX_RECORDINGS - 1
    for file in (folder / name for name in ("index.html", "figures.json", "predictions.jsonl")):
        text = file.read_text()
        assert str(tmp_path) not in text
        assert "://" not in text


def test_a_recording_never_leaves_the_report_s_folder(tmp_path: Path) -> None:
    outside = tmp_path / "x.flac"
    outside.write_bytes(b"x")
    (tmp_path / "in").mkdir()
    row = judge(gold_row("a", audio="../x.flac"), prediction("a", "mocha"))
    write_report(tmp_path / "r", [row], {}, audio_dir=tmp_path / "in")
    assert [str(p.relative_to(tmp_path)) for p in (tmp_path / "r" / "audio").iterdir()] == ["r/audio/x.flac"]


def test_the_report_says_what_was_run(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text("abc")
    told = about(EvalRequest(CAFE, gold, []), EvalRun(), Settings())
    assert told["gold_sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert told["decoder"]["model"] == Settings().llm_model
    assert "hearing" not in told
    write_report(tmp_path / "r", rows(), told)
    kept: dict[str, Any] = json.loads((tmp_path / "r" / "figures.json").read_text())
    assert kept["about"] == told
    stored = [json.loads(line) for line in (tmp_path / "r" / "predictions.jsonl").read_text().splitlines()]
    assert [row["exact"] for row in stored] == [True, True, False, False]
