"""The gate replays recordings, and fails if a set got worse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from schemas.compare import canonical
from schemas.errors import DecodeTruncated
from schemas.transcript import Transcript
from services.decoding import wire
from services.decoding.menu_names import Names
from services.decoding.ports import CartRequest, DecodedCart
from services.transcription.ports import Recording
from tests.gate.__main__ import main
from tests.gate.compare import changed_rows, failures
from tests.gate.engines import TapedDecoder, read_key, shipped, taped_tools, transcribe_all
from tests.gate.replay import Comparison, compare_all
from tests.gate.rerecord import entry
from tests.gate.rows import Row, outcome, run
from tests.gate.sets import Order, chosen
from tests.gate.store import ROWS, TAPE, Store
from tests.gate.tape import NotOnTape, Tape, read_lines, write_packed

[TUNE] = chosen(["tune"])
ORDERS = TUNE.orders(None)[:4]
MENU = ORDERS[0].menu


class Gold:
    """A decoder that always returns the gold cart, or always fails."""

    def __init__(self, order: Order, error: Exception | None = None) -> None:
        self._lines, self._error = order.gold["cart"]["lines"], error
        self._text = wire.write(self._lines, Names(order.menu))

    def decode(self, *_asked: object) -> DecodedCart:
        if self._error is not None:
            raise self._error
        return DecodedCart(tuple(self._lines), self._text, -0.001, 0)


def wired(reader: Gold) -> Any:
    parts = dict.fromkeys(("transcriber", "second_transcriber", "decode_audio"))
    return SimpleNamespace(decoder=reader, **parts)


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    """Restore logging: the gate configures it for its own process."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Four recorded orders."""
    store = Store(tmp_path / "work", "tune", data=tmp_path / "data")
    for order in ORDERS:
        tape = Tape()
        prediction = run(order, taped_tools(shipped(), tape, wired(Gold(order))), None)
        store.add(tape.new, outcome(order, prediction))
    store.pack()
    return tmp_path / "data"


def rewrite(file: Path, change: Any) -> None:
    write_packed(file, [change(document) for document in read_lines(file)])


def test_replay_comes_to_the_recorded_rows(data: Path) -> None:
    [found] = compare_all([TUNE], None, data=data)
    assert [then for then, now in found.pairs if then == now] == [then for then, _ in found.pairs]
    assert (len(found.pairs), found.missing, found.gone) == (4, 0, 0)
    assert main(["tune"], data) == 0


def test_a_set_that_got_worse_exits_1(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def doubled(entry: dict[str, Any]) -> dict[str, Any]:
        lines = [line | {"quantity": 2 * line["quantity"]} for line in entry["answer"]["lines"]]
        return entry | {"answer": entry["answer"] | {"lines": lines}}

    rewrite(data / f"tune.{TAPE}.gz", doubled)
    assert main(["tune", "--rows"], data) == 1
    assert "undetected: False > True" in capsys.readouterr().out


def test_a_request_without_an_answer_is_counted_and_goes_to_a_human(data: Path) -> None:
    write_packed(data / f"tune.{TAPE}.gz", [])
    [found] = compare_all([TUNE], None, data=data)
    assert found.missing == 4
    assert {(now.decision, *now.reasons) for _, now in found.pairs} == {("human", NotOnTape.code)}


def test_no_recording_is_no_pass(tmp_path: Path) -> None:
    assert main(["tune"], tmp_path) == 1


def test_an_order_that_is_gone_is_no_pass(data: Path) -> None:
    rewrite(data / f"tune.{ROWS}.gz", lambda row: row | {"id": f"{row['id']} of old"})
    [found] = compare_all([TUNE], None, data=data)
    assert (found.gone, found.new) == (4, 868)
    assert failures(found) == ["orders gone", "no orders"]


def test_an_answer_is_kept_by_the_words_of_both_recognizers() -> None:
    tape = Tape()
    for number, second in enumerate(("", "two sausage roles")):
        recording = TapedDecoder(tape, Gold(ORDERS[number]))  # type: ignore[arg-type]
        recording.decode(CartRequest("two sausage rolls", MENU, second))
    replaying = TapedDecoder(Tape(tape.new))
    found = [replaying.decode(CartRequest("two sausage rolls", MENU, s)) for s in ("", "two sausage roles")]
    assert [list(one.lines) for one in found] == [order.gold["cart"]["lines"] for order in ORDERS[:2]]
    with pytest.raises(NotOnTape):
        replaying.decode(CartRequest("two sausage rolls", MENU, "to sausage rolls"))


def test_a_recorded_error_comes_again() -> None:
    asked, tape = CartRequest("two sausage rolls", MENU), Tape()
    failing = Gold(ORDERS[0], error=DecodeTruncated("cut off"))
    with pytest.raises(DecodeTruncated):
        TapedDecoder(tape, failing).decode(asked)  # type: ignore[arg-type]
    with pytest.raises(DecodeTruncated):
        TapedDecoder(Tape(tape.new)).decode(asked)


@pytest.mark.parametrize("cut_off", [False, True])
def test_an_answer_from_elsewhere_plays_as_the_reading_that_it_is(cut_off: bool) -> None:
    request = CartRequest(ORDERS[0].gold["utterance"], MENU)
    gold = Gold(ORDERS[0]).decode()
    text = gold.text[:-2] if cut_off else gold.text
    row = {"id": json.dumps(read_key(request)), "text": text, "logprob": -0.5, "overruled": 1}
    played = TapedDecoder(Tape([entry(row, MENU)]))
    if cut_off:
        with pytest.raises(DecodeTruncated):
            played.decode(request)
    else:
        read = played.decode(request)
        assert canonical(read.lines) == canonical(gold.lines)
        assert (read.logprob, read.overruled) == (-0.5, 1)


def test_recording_again_keeps_the_baseline(data: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "work", "tune", again=True, data=data)
    assert not store.done
    before = list(read_lines(data / f"tune.{ROWS}.gz"))
    entry = {"key": ["read", "other", "0"], "answer": None}
    store.add([entry], replace(Row.of(before[0]), cart=[]))
    store.pack()
    assert list(read_lines(data / f"tune.{ROWS}.gz")) == before
    assert list(read_lines(data / f"tune.{TAPE}.gz")) == [entry]


class Recognizer:
    """Counts calls, and always returns the same transcript."""

    calls = 0

    def transcribe(self, *_asked: object) -> Transcript:
        self.calls += 1
        return Transcript(text="a latte", confidence=0.9)

    transcribe_fitted = transcribe_denoised = transcribe

    def quiet_words(self, *_asked: object) -> str:
        self.calls += 1
        return ""


def test_a_transcript_on_tape_is_not_made_again(tmp_path: Path) -> None:
    store, recognizer = Store(tmp_path / "work", "golden-clean", data=tmp_path), Recognizer()
    live = wired(Gold(ORDERS[0]))
    live.transcriber = live.second_transcriber = recognizer
    order = replace(ORDERS[0], gold=ORDERS[0].gold | {"audio": "a.opus"})
    store.done.add(order.id)
    for calls in (6, 6):
        assert store.lacks(order, spoken=True) == (recognizer.calls == 0)
        tape = store.tape("a.opus")
        transcribe_all(Recording(Path("a.opus"), live.decode_audio), "en", taped_tools(shipped(), tape, live))
        store.add(tape.new)
        store = Store(tmp_path / "work", "golden-clean", data=tmp_path)
        store.done.add(order.id)
        assert recognizer.calls == calls


GOOD = Row("a", [], "accepted", None, [], [], [], exact=True, right=True, undetected=False, human=False)
WRONG = replace(GOOD, exact=False, right=False)


@pytest.mark.parametrize(
    ("orders", "now", "many", "past"),
    [
        (400, WRONG, 2, []),
        (400, WRONG, 3, ["exact", "exact after answers"]),
        (400, replace(GOOD, human=True), 4, []),
        (400, replace(GOOD, human=True), 5, ["to a human"]),
        (400, replace(GOOD, undetected=True), 1, ["undetected"]),
        (400, replace(GOOD, decision="asked"), 400, []),
        (100, WRONG, 3, []),
        (100, WRONG, 8, ["exact", "exact after answers"]),
        (100, replace(GOOD, undetected=True), 8, ["undetected"]),
    ],
)
def test_tolerances(orders: int, now: Row, many: int, past: list[str]) -> None:
    found = Comparison("a", sealed=False, pairs=[(GOOD, now)] * many + [(GOOD, GOOD)] * (orders - many))
    assert failures(found) == past


@pytest.mark.parametrize(("sealed", "shown"), [(False, ["a a", "    exact: True > False"]), (True, [])])
def test_no_row_of_a_sealed_set_is_shown(sealed: bool, shown: list[str]) -> None:
    found = Comparison("a", sealed=sealed, pairs=[(GOOD, replace(GOOD, exact=False))])
    assert list(changed_rows(found)) == shown
