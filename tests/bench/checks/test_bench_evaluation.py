"""The whole evaluation: which sets it has, which are done, what is published of them. No model is asked."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.menu import Menu
from services.evaluation.statistics import wilson
from services.training.orders import shops
from services.training.score import cart_of
from tests.bench.evaluation.__main__ import environment, is_done, request
from tests.bench.evaluation.report import gather, joined, table
from tests.bench.evaluation.sets import (
    RUNGS,
    STRANGERS,
    Set,
    Source,
    all_sets,
    chosen,
    cut,
    is_whole,
    make_ladder,
    prepare_menus,
    recordings,
)
from tests.bench.results import Results

OUT, LADDERS, HUMAN = Path("/out"), Path("/ladders"), Path("/human")
SAMPLES = REPOSITORY / "infra" / "samples" / "recordings"
SAMPLE = "hc-01.flac"  # the shortest of the samples in which somebody speaks
COMMIT = "0123456789ab"


def by_name(human: Path | None = HUMAN) -> dict[str, Set]:
    return {one.name: one for one in all_sets(OUT, LADDERS, human)}


def test_both_menus_are_read_and_heard_on_every_rung_and_people_where_there_are_any() -> None:
    menus = ("harbor-coffee", "copper-skillet")
    golden = [f"{stem}-{menu}" for stem in ("text", *(rung.name for rung in RUNGS)) for menu in menus]
    menus = sorted(file.stem for file in STRANGERS.glob("*/*.menu"))
    golden += [f"strangers-{rung}-{menu}" for rung in ("clean", "babble-5") for menu in menus]
    assert len(menus) == 14
    assert list(by_name(None)) == golden
    assert list(by_name()) == [*golden, *(f"human-{rung.name}" for rung in RUNGS)]


def test_a_set_has_the_rows_and_recordings_of_its_kind() -> None:
    text = by_name()["text-copper-skillet"]
    assert (text.gold, text.audio) == (REPOSITORY / "tests/golden/copper-skillet-sealed.jsonl", None)
    assert text.source.menu == REPOSITORY / "infra/samples/menus/copper-skillet.json"
    noisy = by_name()["babble-10-copper-skillet"]
    assert noisy.gold == OUT / "gold/copper-skillet-sealed-spoken.jsonl"
    assert (noisy.audio, noisy.condition) == (LADDERS / "golden/babble-10", "babble 10 dB")
    person = by_name()["human-clean"]
    assert (person.source.gold, person.source.menu) == (HUMAN / "gold.jsonl", HUMAN / "menu.json")
    assert (person.audio, person.condition) == (LADDERS / "human/clean", "clean")


def test_a_menu_by_strangers_has_its_own_rows_and_is_written_as_the_product_takes_it(tmp_path: Path) -> None:
    sets = [one for one in all_sets(tmp_path, LADDERS, None) if one.source.only]
    prepare_menus(sets)
    spoken = [json.loads(line) for line in (STRANGERS / "spoken.jsonl").read_text().splitlines()]
    kept = list[str]()
    for one in sets[: len(sets) // 2]:
        assert one.source.only == Menu.parse(json.loads(one.source.menu.read_text())).id
        cut(one)
        rows = [json.loads(line) for line in one.gold.read_text().splitlines()]
        assert {row["menu"] for row in rows} == {one.source.only}
        kept += [row["id"] for row in rows]
    assert sorted(kept) == sorted(row["id"] for row in spoken)


def test_what_is_spoken_of_strangers_are_their_orders() -> None:
    known = {row.id: (row.said, shop.menu.id, row.lines) for shop in shops("sealed") for row in shop.rows}
    for row in map(json.loads, (STRANGERS / "spoken.jsonl").read_text().splitlines()):
        said, menu, lines = known[row["id"]]
        # Not shown where they differ: sealed rows are nobody's business.
        assert (row["utterance"] == said, row["menu"] == menu) == (True, True)
        assert (cart_of(row["cart"]["lines"]) == cart_of(lines)) is True


def test_every_set_is_scored_by_the_product_s_command() -> None:
    said = [str(word) for word in request(by_name()["car-5-harbor-coffee"], OUT, 3)]
    assert said == [
        "eval",
        *("--menu", f"{REPOSITORY}/infra/samples/menus/harbor-coffee.json"),
        *("--gold", "/out/gold/harbor-coffee-sealed-spoken.jsonl"),
        *("--audio-dir", "/ladders/golden/car-5"),
        *("--keep", "/out/kept", "--report", "/out/car-5-harbor-coffee"),
        *("--condition", "car 5 dB", "--jobs", "3"),
    ]
    assert "--audio-dir" not in request(by_name()["text-harbor-coffee"], OUT, 2)


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
    assert environment(outside, OUT, decode_all=True)["SAYCART_SKIP_SETTLED"] == "false"
    assert inside["SAYCART_HOME"] == "/out/home"
    assert "DATABASE_URL" not in inside


def test_some_sets_can_be_chosen_and_an_unknown_name_is_refused() -> None:
    sets = list(by_name().values())
    assert chosen(sets, None) == sets
    picked = chosen(sets, "human-car-5,text-harbor-coffee")
    assert [one.name for one in picked] == ["text-harbor-coffee", "human-car-5"]
    with pytest.raises(SystemExit, match="No such set: texts"):
        chosen(sets, "texts,human-car-5")


def own_set(folder: Path, rows: list[dict[str, Any]]) -> Set:
    """A set of one sample recording, whose folders are all in `folder`."""
    gold = folder / "gold.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = Source(folder / "menu.json", gold, SAMPLES, "golden")
    return Set("clean-cafe", "clean", source, folder / "out/gold/spoken.jsonl", folder / "ladder/clean")


def test_only_rows_that_were_spoken_are_heard(tmp_path: Path) -> None:
    rows = [{"id": "a", "utterance": "é"}, {"id": "b", "audio": SAMPLE}, {"id": "c", "audio": None}]
    one = own_set(tmp_path, rows)
    cut(one)
    assert [json.loads(line)["id"] for line in one.gold.read_text().splitlines()] == ["b"]
    assert recordings(one.gold) == [SAMPLE]


@pytest.mark.parametrize("name", ["lost.flac", "../recordings/hc-01.flac", "gold.jsonl"])
def test_a_recording_that_can_not_be_heard_stops_the_run(tmp_path: Path, name: str) -> None:
    """Else it would be scored as an order that went to review. Ids stay unsaid: rows may be sealed."""
    one = own_set(tmp_path, [{"id": "secret-1", "audio": name}, {"id": "b", "audio": SAMPLE}])
    with pytest.raises(SystemExit, match="of 2 recordings 1 are not right") as stopped:
        cut(one)
    assert "secret" not in str(stopped.value)
    assert not one.gold.exists()


def test_a_set_without_recordings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="of 0 recordings"):
        cut(own_set(tmp_path, [{"id": "a", "utterance": "a latte"}]))


def test_a_ladder_is_made_once_and_again_where_it_is_not_whole(tmp_path: Path) -> None:
    """Noise is looked at in the last recording, the clean rung in all."""
    ladder, both = tmp_path / "ladder", [SAMPLE, "hc-05.flac"]
    assert make_ladder(SAMPLES, both, ladder)
    assert sorted(path.name for path in ladder.iterdir()) == sorted(rung.name for rung in RUNGS)
    assert not make_ladder(SAMPLES, both, ladder)
    for rung, name in (("clean", both[0]), ("babble-5", both[1])):
        file = ladder / rung / name
        whole = file.read_bytes()
        file.write_bytes(whole[:-100])  # half written
        assert not is_whole(SAMPLES, both, ladder)
        file.write_bytes(whole)
    file.write_bytes(whole[:-100])
    (ladder / "car-20" / SAMPLE).unlink()
    assert make_ladder(SAMPLES, both, ladder)
    assert file.read_bytes() == whole
    assert not is_whole(SAMPLES, ["hc-02.flac", *both], ladder)


def report(out: Path, name: str, **more: Any) -> None:
    """A report of 40 orders, 30 exact, as far as it is read here."""
    figures: dict[str, Any] = {
        "rows": 40,
        "exact_carts": 30,
        "reviews": 12,
        "needless_reviews": 4,
        "silent_errors": 2,
        "wer": 0.05,
        "by_tag": {"plain": {"rows": 40}},
    }
    about = {
        "menu": "harbor-coffee",
        "gold": "harbor-coffee-sealed-spoken.jsonl",
        "gold_sha256": hashlib.sha256(b"rows").hexdigest(),
        "condition": "clean",
        "date": "2026-01-01T10:00:00Z",
        "commit": COMMIT,
        "saycart": "0.1.0",
        "decoder": {"model": "small.gguf"},
        "kept_from_an_earlier_run": {"hearings": 3},
    }
    told = {key: more.pop(key) for key in list(more) if key in about or key == "hearing"}
    (out / name).mkdir(parents=True)
    (out / name / "figures.json").write_text(json.dumps({"about": about | told, **figures, **more}))


def test_a_set_is_done_when_it_was_scored_at_this_commit(tmp_path: Path) -> None:
    one = own_set(tmp_path, [])
    one.gold.parent.mkdir(parents=True)
    one.gold.write_text("rows")
    assert not is_done(one, tmp_path, COMMIT), "it has no report"
    report(tmp_path, one.name)
    assert is_done(one, tmp_path, COMMIT)
    assert not is_done(one, tmp_path, "ba9876543210")
    one.gold.write_text("other rows")
    assert not is_done(one, tmp_path, COMMIT)


@pytest.mark.parametrize("at", [f"{COMMIT} and changes", None])
def test_a_set_that_nobody_can_name_the_code_of_is_not_done(tmp_path: Path, at: str | None) -> None:
    one = own_set(tmp_path, [])
    one.gold.parent.mkdir(parents=True)
    one.gold.write_text("rows")
    report(tmp_path, one.name, commit=at)
    assert not is_done(one, tmp_path, at)


def test_a_report_that_was_cut_off_is_not_done(tmp_path: Path) -> None:
    one = own_set(tmp_path, [])
    one.gold.parent.mkdir(parents=True)
    one.gold.write_text("rows")
    report(tmp_path, one.name)
    file = tmp_path / one.name / "figures.json"
    file.write_text(file.read_text()[:100])
    assert not is_done(one, tmp_path, COMMIT)


def test_counts_are_published_and_nothing_that_was_said(tmp_path: Path) -> None:
    report(tmp_path, "text-harbor-coffee", condition="text", wer=None)
    report(tmp_path, "clean-harbor-coffee", hearing={"model": "base"}, date="2026-01-02T10:00:00Z")
    report(tmp_path, "summary")
    found = gather(tmp_path, ["clean-harbor-coffee", "text-harbor-coffee", "human-clean"])
    assert found["about"] == {
        "commit": COMMIT,
        "date": "2026-01-02T10:00:00Z",
        "saycart": "0.1.0",
        "decoder": {"model": "small.gguf"},
        "hearing": {"model": "base"},
    }
    clean = {
        "set": "clean-harbor-coffee",
        "condition": "clean",
        "menu": "harbor-coffee",
        "gold": "harbor-coffee-sealed-spoken.jsonl",
        "rows": 40,
        "exact": 30,
        "reviews": 12,
        "needless": 4,
        "silent": 2,
        "wer": 0.05,
    }
    assert found["sets"] == [clean, {**clean, "set": "text-harbor-coffee", "condition": "text", "wer": None}]


def test_a_set_of_an_older_commit_says_so(tmp_path: Path) -> None:
    report(tmp_path, "clean-harbor-coffee", commit="old", hearing={"model": "tiny"})
    report(tmp_path, "text-harbor-coffee", date="2026-02-01T10:00:00Z")
    found = gather(tmp_path, ["text-harbor-coffee", "clean-harbor-coffee"])
    assert (found["about"]["commit"], found["about"]["hearing"]) == (COMMIT, {"model": "tiny"})
    assert [one.get("commit") for one in found["sets"]] == [None, "old"]


def counts(name: str, rows: int, exact: int, silent: int) -> dict[str, Any]:
    return {
        "set": name, "rows": rows, "exact": exact, "reviews": 5, "needless": 2, "silent": silent, "wer": 0.1,
    }  # fmt: skip


def test_both_menus_are_joined_where_both_were_scored() -> None:
    found = joined(
        [
            counts("text-harbor-coffee", 82, 70, 1),
            counts("babble-10-harbor-coffee", 48, 30, 2),
            counts("babble-10-copper-skillet", 45, 20, 3),
            counts("human-babble-10", 139, 99, 9),
        ]
    )
    assert found == [
        {"set": "babble-10, both menus", "rows": 93, "exact": 50, "reviews": 10, "needless": 4, "silent": 5}
        | {"wer": None}
    ]


def test_menus_by_strangers_are_joined_as_far_as_they_were_scored() -> None:
    found = joined(
        [counts(f"strangers-{name}", 8, 7, 1) for name in ("clean-deli", "clean-diner", "babble-5-deli")]
    )
    assert [(one["set"], one["rows"], one["exact"]) for one in found] == [
        ("clean, 2 menus by strangers", 16, 14),
        ("babble-5, 1 menus by strangers", 8, 7),
    ]


def test_the_table_has_shares_with_their_intervals() -> None:
    low, high = wilson(50, 93)
    both = joined([counts("clean-harbor-coffee", 48, 30, 0), counts("clean-copper-skillet", 45, 20, 0)])
    row = table(both).splitlines()[-1]
    assert row.startswith(f"| clean, both menus | 93 | 50, 53.8% ({100 * low:.1f}–{100 * high:.1f}%) | 10,")
    assert row.endswith("| 4 | 0, 0.0% (0.0–4.0%) | – | – | – | – | – |")


def test_questions_that_were_answered_stand_beside() -> None:
    answered = {"asked": 7, "exact_answered": 44, "to_a_human": 3, "wrong_unseen": 1}
    both = joined(
        [counts(f"text-{menu}", 50, 40, 0) | answered for menu in ("harbor-coffee", "copper-skillet")]
    )
    row = table(both).splitlines()[-1]
    assert "| 14 | 88, 88.0%" in row
    assert row.endswith("| 2 | – |")


def test_what_is_published_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "docs" / "evaluation.json"
    Results(file).replace({"sets": ["old"], "gone": True})
    Results(file).replace({"sets": []})
    assert json.loads(file.read_text()) == {"sets": []}
