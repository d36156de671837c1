"""The evaluation sets hold what they promise, and the noise ladder makes what its rungs say."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.settings import REPOSITORY
from schemas.cart import Amount, CartDraft
from schemas.menu import Menu, spoken_key
from services.engines.recognition.audio import RATE
from tests.golden import files, ladder, noise

GOLDEN = REPOSITORY / "tests" / "golden"
MENUS = {
    name: Menu.parse(json.loads((REPOSITORY / "infra/samples/menus" / f"{name}.json").read_text()))
    for name in ("harbor-coffee", "copper-skillet")
}
HALVES = ("tuned", "sealed")
TAGS = set(
    "amount combo correction count filler homophone lure many_items negation nickname no_order number "
    "off_menu option plain plural question removal same_again shared small_talk split unavailable".split()
)
IDS = {"harbor-coffee": "hc", "copper-skillet": "cs"}
MAX_BYTES = 8_000_000
GAP_S = 0.5

Row = dict[str, Any]


def rows(menu: str, half: str) -> list[Row]:
    lines = (GOLDEN / f"{menu}-{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def every_row() -> list[Row]:
    return [row for menu in MENUS for half in HALVES for row in rows(menu, half)]


def of_half(half: str) -> list[Row]:
    return [row for menu in MENUS for row in rows(menu, half)]


def manifest(folder: str) -> dict[str, Row]:
    recordings = json.loads((GOLDEN / folder / "manifest.json").read_text(encoding="utf-8"))["recordings"]
    return {entry["file"]: entry for entry in recordings}


def problems(row: Row) -> list[str]:
    """Everything in a gold cart that its menu does not allow."""
    menu, found = MENUS[row["menu"]], []
    for line in row["cart"]["lines"]:
        if line.get("kind") == "not_on_menu":
            found += [] if set(line) == {"kind", "quantity"} and line["quantity"] > 0 else ["off the menu"]
            continue
        item = menu.item(line["sku"])
        if item is None:
            found.append(f"no item {line['sku']}")
            continue
        if line["size"] is not None and line["size"] not in item.size_ids:
            found.append(f"{item.sku} has no size {line['size']}")
        if not 0 < line["quantity"] <= item.max_quantity:
            found.append(f"{line['quantity']} {item.sku}")
        named = Counter((option["group"], option["id"]) for option in line["options"])
        found += [f"{option} twice" for option, times in named.items() if times > 1]
        wanted: Counter[str] = Counter()
        for option in line["options"]:
            group = menu.group(option["group"])
            if group is None or group.id not in item.option_groups:
                found.append(f"{item.sku} has no {option['group']}")
            elif option["id"] not in {known.id for known in group.options}:
                found.append(f"{group.id} has no {option['id']}")
            elif group.choose == "one" and option["amount"] != Amount.NONE:
                wanted[group.id] += 1
        found += [f"more than one {group}" for group, times in wanted.items() if times > 1]
    return found


@pytest.mark.parametrize("menu", MENUS)
@pytest.mark.parametrize("half", HALVES)
def test_every_cart_can_be_ordered_from_its_menu(menu: str, half: str) -> None:
    gold = rows(menu, half)
    assert {row["menu"] for row in gold} == {menu}
    assert not {row["id"]: found for row in gold if (found := problems(row))}
    for row in gold:
        # The form of a draft, with words to stand for `heard`.
        drafts = [{"kind": "item", "heard": "x", **line} for line in row["cart"]["lines"]]
        CartDraft.model_validate({"lines": drafts})


def test_the_check_of_a_cart_finds_what_is_wrong() -> None:
    def with_option(group: str, option: str) -> Row:
        return {"group": group, "id": option, "amount": "normal", "count": 1}

    milks = [with_option("milk", "oat"), with_option("milk", "soy")]
    wrong: list[Row] = [
        {"sku": "pizza", "quantity": 1, "size": None, "options": []},
        {"sku": "latte", "quantity": 1, "size": "XL", "options": []},
        {"sku": "travel-mug", "quantity": 6, "size": None, "options": []},
        {"sku": "latte", "quantity": 1, "size": None, "options": [with_option("ice", "ice")]},
        {"sku": "latte", "quantity": 1, "size": None, "options": [with_option("milk", "goat")]},
        {"sku": "latte", "quantity": 1, "size": None, "options": milks},
        {"sku": "latte", "quantity": 1, "size": None, "options": [milks[0], milks[0]]},
    ]
    for line in wrong:
        assert problems({"menu": "harbor-coffee", "cart": {"lines": [line]}}), line


@pytest.mark.parametrize("half", HALVES)
def test_ids_count_up_and_tags_are_known(half: str) -> None:
    for menu in MENUS:
        ids = [row["id"] for row in rows(menu, half)]
        assert ids == [f"{IDS[menu]}-{half[0]}-{n:03d}" for n in range(1, len(ids) + 1)]
    for row in of_half(half):
        assert row["tags"], row["id"]
        assert set(row["tags"]) <= TAGS, row["id"]
        assert len(row["tags"]) == len(set(row["tags"])), row["id"]


def test_the_halves_are_of_one_mix_and_share_no_sentence() -> None:
    tuned, sealed = of_half("tuned"), of_half("sealed")
    for what in ("level", "menu"):
        assert Counter(row[what] for row in tuned) == Counter(row[what] for row in sealed)
    assert Counter(tag for row in tuned for tag in row["tags"]) == Counter(
        tag for row in sealed for tag in row["tags"]
    )
    said = [spoken_key(row["utterance"]) for row in tuned + sealed]
    assert not [text for text, times in Counter(said).items() if times > 1]


def test_there_is_as_much_as_promised() -> None:
    gold = every_row()
    spoken = [row for row in gold if "audio" in row]
    assert len(gold) >= 320
    assert min(len(rows(menu, half)) for menu in MENUS for half in HALVES) >= 80
    assert set(Counter(row["level"] for row in gold)) == {"simple", "middling", "hard"}
    for half in HALVES:
        mine = [row for row in of_half(half) if "audio" in row]
        assert len(mine) >= 80
        assert {tag for row in mine for tag in row["tags"]} == TAGS
        assert len({row["speech"]["voice"] for row in mine}) >= 8
        assert {voice[:2] for voice in {row["speech"]["voice"] for row in mine}} == {"af", "am", "bf", "bm"}
    speeds = {row["speech"]["speed"] for row in spoken}
    assert min(speeds) == 0.85
    assert max(speeds) == 1.25


def test_recordings_are_those_of_the_gold_files() -> None:
    spoken = {row["audio"]: row for row in every_row() if "audio" in row}
    listed = manifest("audio")
    assert set(spoken) == set(listed) == {path.name for path in (GOLDEN / "audio").glob("*.opus")}
    for name, row in spoken.items():
        entry = listed[name]
        assert name == f"{row['id']}.opus"
        assert entry["text"] == row["speech"].get("text", row["utterance"])
        assert (entry["voice"], entry["speed"]) == (row["speech"]["voice"], row["speech"]["speed"])


@pytest.mark.parametrize("folder", ["audio", "babble"])
def test_recordings_match_their_manifest(folder: str) -> None:
    listed = manifest(folder)
    assert listed
    for name, entry in listed.items():
        raw = (GOLDEN / folder / name).read_bytes()
        assert (len(raw), hashlib.sha256(raw).hexdigest()) == (entry["bytes"], entry["sha256"]), name
        assert "Apache-2.0" in entry["licence"]


def test_the_sets_are_small_enough_to_be_carried() -> None:
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()) < MAX_BYTES


def test_no_talker_of_the_babble_orders_anything() -> None:
    voices = {entry["voice"] for entry in manifest("babble").values()}
    assert len(voices) == 6
    assert not voices & {row["speech"]["voice"] for row in every_row() if "speech" in row}


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Two spoken orders of the tuned half: one as it is shipped, one as a FLAC."""
    folder = tmp_path / "clean"
    folder.mkdir()
    first, second = [GOLDEN / "audio" / row["audio"] for row in of_half("tuned") if "audio" in row][:2]
    (folder / first.name).write_bytes(first.read_bytes())
    files.write(folder / "second.flac", ladder.read(second))
    return folder


def test_a_ladder_has_every_recording_on_every_rung(recordings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert len(list(ladder.climb(recordings, out, seed=1))) == 2
    names = {path.name for path in recordings.iterdir()}
    assert {path.name for path in out.iterdir()} == {
        *("clean", "telephone", "babble-20", "babble-10", "babble-5", "car-20", "car-10", "car-5")
    }
    for rung in out.iterdir():
        assert {path.name for path in rung.iterdir()} == names
        for path in rung.iterdir():
            # The product's own decoder, which sniffs the container, hears as much as there was.
            assert len(ladder.read(path)) == len(ladder.read(recordings / path.name))
    for name in names:
        assert (out / "clean" / name).read_bytes() == (recordings / name).read_bytes()
        assert len({(rung / name).read_bytes() for rung in out.iterdir()}) == len(ladder.RUNGS)


def test_a_ladder_comes_out_the_same_again(recordings: Path, tmp_path: Path) -> None:
    for out in ("one", "two", "other"):
        list(ladder.climb(recordings, tmp_path / out, seed=2 if out == "other" else 1))
    for rung in ("babble-10", "car-5", "telephone"):
        for path in (tmp_path / "one" / rung).iterdir():
            assert path.read_bytes() == (tmp_path / "two" / rung / path.name).read_bytes()
            changed = path.read_bytes() != (tmp_path / "other" / rung / path.name).read_bytes()
            assert changed == (rung != "telephone")


@pytest.mark.parametrize("rung", [rung for rung in ladder.RUNGS if rung.snr_db], ids=lambda rung: rung.name)
def test_a_rung_has_the_ratio_of_its_name(rung: ladder.Rung, recordings: Path, tmp_path: Path) -> None:
    clean = ladder.read(recordings / "second.flac") / 4  # far from clipping: nothing is turned down
    files.write(tmp_path / "mixed.flac", ladder.degrade(clean, rung, "second.flac", seed=1))
    added = ladder.read(tmp_path / "mixed.flac") - clean
    measured = 20 * np.log10(noise.speech_rms(clean, RATE) / np.sqrt(np.mean(added.astype(float) ** 2)))
    assert measured == pytest.approx(rung.snr_db, abs=0.2)


def test_babble_is_spread_over_the_recording(recordings: Path) -> None:
    """A pause of all talkers at once would leave a hole that a loudness over all does not show."""
    clean = ladder.read(recordings / "second.flac")
    added = ladder.degrade(clean, ladder.Rung("babble", 5), "second.flac", seed=1) - clean
    size = int(GAP_S * RATE)
    windows = added[: len(added) // size * size].reshape(-1, size)
    assert np.sqrt(np.mean(windows**2, axis=1)).min() > 0.1 * np.sqrt(np.mean(added**2))


def test_a_telephone_leaves_its_band_only() -> None:
    hiss = noise.hiss(4 * RATE, -20.0, seed=3)
    before, after = (np.abs(np.fft.rfft(x)) ** 2 for x in (hiss, noise.telephone(hiss, RATE)))
    hertz = np.fft.rfftfreq(len(hiss), 1 / RATE)
    outside, inside = (hertz < 150) | (hertz > 5000), (hertz > 500) & (hertz < 3000)
    assert after[outside].sum() < 0.01 * before[outside].sum()
    assert after[inside].sum() == pytest.approx(before[inside].sum(), rel=0.05)


def test_a_loud_recording_is_turned_down_and_not_clipped(recordings: Path) -> None:
    clean = ladder.read(recordings / "second.flac")
    loud = clean * (0.99 / np.abs(clean).max())
    made = ladder.degrade(loud, ladder.Rung("car", 5), "second.flac", seed=1)
    assert np.abs(made).max() == pytest.approx(ladder.PEAK, abs=1e-3)


def test_silence_gets_no_noise() -> None:
    silence = np.zeros(RATE, np.float32)
    assert not ladder.degrade(silence, ladder.Rung("babble", 5), "silence.wav", seed=1).any()


def test_a_folder_without_recordings_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no recording"):
        list(ladder.climb(tmp_path, tmp_path / "out", seed=1))


def test_a_container_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="convert the recordings first"):
        files.write(tmp_path / "a.m4a", np.zeros(RATE, np.float32))
