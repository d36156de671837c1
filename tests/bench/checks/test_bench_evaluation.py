"""The whole evaluation: which sets it has, which are done, what is published of them. No model is asked."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from services.learning.training.orders import shops
from services.learning.training.score import cart_of
from tests.bench.evaluation.__main__ import environment, is_done
from tests.bench.evaluation.report import ANSWERED, COUNTS, gather
from tests.bench.evaluation.sets import (
    STRANGERS,
    Set,
    Source,
    cut,
)

OUT, LADDERS, HUMAN = Path("/out"), Path("/ladders"), Path("/human")
SAMPLES = REPOSITORY / "infra" / "samples" / "recordings"
SAMPLE = "hc-01.flac"  # the shortest of the samples in which somebody speaks
COMMIT = "0123456789ab"


def test_what_is_spoken_of_strangers_are_their_orders() -> None:
    known = {
        row.id: (row.utterance, shop.menu.id, row.lines) for shop in shops("sealed") for row in shop.rows
    }
    for row in map(json.loads, (STRANGERS / "spoken.jsonl").read_text().splitlines()):
        said, menu, lines = known[row["id"]]
        # Not shown where they differ: sealed rows are nobody's business.
        assert (row["utterance"] == said, row["menu"] == menu) == (True, True)
        assert (cart_of(row["cart"]["lines"]) == cart_of(lines)) is True


def test_an_operator_s_settings_do_not_change_the_models() -> None:
    outside = {
        "PATH": "/bin",
        "SAYCART_WHISPER_MODEL": "tiny",
        "SAYCART_LLM_URL": "http://elsewhere",
        "SAYCART_HOME": "/somebody/s",
        "DATABASE_URL": "postgresql://orders",
        "SAYCART_MODELS_DIR": "/weights",
    }
    inside = environment(outside, OUT)
    assert (inside["PATH"], inside["SAYCART_MODELS_DIR"]) == ("/bin", "/weights")
    ours = {name for name in inside if name.startswith("SAYCART_")}
    assert ours == {"SAYCART_MODELS_DIR", "SAYCART_HOME"}
    assert inside["SAYCART_HOME"] == "/out/home"
    assert "DATABASE_URL" not in inside


def own_set(folder: Path, rows: list[dict[str, Any]]) -> Set:
    """A set of one sample recording, whose folders are all in `folder`."""
    gold = folder / "gold.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = Source(folder / "menu.json", gold, SAMPLES, "golden")
    return Set("clean-cafe", "clean", source, folder / "out/gold/spoken.jsonl", folder / "ladder/clean")


@pytest.mark.parametrize("name", ["lost.flac", "../recordings/hc-01.flac", "gold.jsonl"])
def test_a_recording_that_can_not_be_heard_stops_the_run(tmp_path: Path, name: str) -> None:
    """Else it would be scored as an order that went to review. Ids stay unsaid: rows may be sealed."""
    one = own_set(tmp_path, [{"id": "secret-1", "audio": name}, {"id": "b", "audio": SAMPLE}])
    with pytest.raises(SystemExit, match="of 2 recordings 1 are not right") as stopped:
        cut(one)
    assert "secret" not in str(stopped.value)
    assert not one.gold.exists()


def report(out: Path, name: str, condition: str, **about: Any) -> None:
    """A report of 40 orders, 30 exact, as far as it is read here."""
    own = {
        "menu": "harbor-coffee",
        "gold": "harbor-coffee-sealed-spoken.jsonl",
        "gold_sha256": hashlib.sha256(b"rows").hexdigest(),
        "condition": condition,
        "date": "2026-01-01T10:00:00Z",
        "commit": COMMIT,
        **about,
    }
    counted = dict.fromkeys(COUNTS.values(), 30) | {"rows": 40, "wer": 0.05}
    after = dict.fromkeys(ANSWERED.values(), 3)
    (out / name).mkdir(parents=True)
    (out / name / "figures.json").write_text(json.dumps({"about": own, **counted, "after_answers": after}))


def test_a_set_is_done_when_it_was_scored_at_this_commit(tmp_path: Path) -> None:
    one = own_set(tmp_path, [])
    one.gold.parent.mkdir(parents=True)
    one.gold.write_text("rows")
    assert not is_done(one, tmp_path, COMMIT), "it has no report"
    report(tmp_path, one.name, "clean")
    assert is_done(one, tmp_path, COMMIT)
    assert not is_done(one, tmp_path, "ba9876543210")
    one.gold.write_text("other rows")
    assert not is_done(one, tmp_path, COMMIT)


def test_counts_are_published_and_nothing_that_was_said(tmp_path: Path) -> None:
    report(tmp_path, "text-harbor-coffee", "text")
    report(tmp_path, "clean-harbor-coffee", "clean", hearing={"model": "base"}, date="2026-01-02T10:00:00Z")
    report(tmp_path, "summary", "clean")
    found = gather(tmp_path, ["clean-harbor-coffee", "text-harbor-coffee", "human-clean"])
    assert found["about"] == {
        "commit": COMMIT, "date": "2026-01-02T10:00:00Z", "hearing": {"model": "base"}
    }  # fmt: skip
    assert [(one["set"], one["rows"], one["exact"]) for one in found["sets"]] == [
        ("clean-harbor-coffee", 40, 30), ("text-harbor-coffee", 40, 30)
    ]  # fmt: skip
    told = {"set", "condition", "menu", "gold", "wer", *COUNTS, *ANSWERED}
    assert all(set(one) == told for one in found["sets"])
