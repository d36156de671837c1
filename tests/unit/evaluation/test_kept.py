"""Answers that are kept on disk: what was asked before is taken from there, all else is asked anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import EngineUnavailable
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.decoding.menu_context import MenuContext
from services.decoding.ports import CartRequest
from services.learning.evaluation import kept as kept_module
from services.learning.evaluation.kept import Kept, KeptDecoder, KeptTranscriber
from tests.stand_ins import (
    AWAY,
    RIGHT,
    SAID,
    ScriptedDecoder,
    ScriptedTranscriber,
    read_as,
    recorded,
    sample_menu,
    speech,
)

FIRST = speech("two large lattes and a muffin", probability=0.912345678901, confidence=0.7123456789)
AGAIN = speech("two large lattes and a marble muffin")
MENU = sample_menu("harbor-coffee")
OTHER_MENU = sample_menu("copper-skillet")
MODEL = "some-model.gguf"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    file = tmp_path / "order.flac"
    file.write_bytes(b"fLaC and more")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def other_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Calling it puts another version of every host library in the place of ours."""

    def change() -> None:
        monkeypatch.setattr(kept_module, "_version", lambda _: "99.0")
        kept_module._code.cache_clear()

    yield change
    kept_module._code.cache_clear()


def ears(folder: Path, name: str = "base", script: list[Any] | None = None) -> tuple[KeptTranscriber, Any]:
    """As a run has them: a recognizer of its own over the common folder. A second run is a second call."""
    inner = ScriptedTranscriber(script or [FIRST])
    return KeptTranscriber(inner, name, Kept(folder)), inner


def decoder(folder: Path, model: str = MODEL, script: list[Any] | None = None) -> tuple[KeptDecoder, Any]:
    inner = ScriptedDecoder(script or [RIGHT])
    return KeptDecoder(inner, model, Kept(folder)), inner


def order(said: str = SAID, menu: Menu = MENU, second: str = "") -> CartRequest:
    return CartRequest(said, menu, second)


def test_a_recording_is_heard_once(folder: Path, recording: Path) -> None:
    first, inner = ears(folder)
    assert first.transcribe(recorded(recording), "en") == FIRST
    assert first.transcribe(recorded(recording), "en") == FIRST
    assert len(inner.heard) == 1
    later, deaf = ears(folder, script=[AWAY])
    assert later.transcribe(recorded(recording), "en") == FIRST
    assert not deaf.heard


def test_the_recording_s_bytes_count_and_not_its_name(folder: Path, recording: Path) -> None:
    ears(folder)[0].transcribe(recorded(recording), "en")
    moved = recording.rename(recording.with_name("elsewhere.flac"))
    later, deaf = ears(folder, script=[AWAY])
    assert later.transcribe(recorded(moved), "en") == FIRST
    assert not deaf.heard


def test_what_a_hearing_depends_on_makes_it_heard_anew(folder: Path, recording: Path) -> None:
    ears(folder)[0].transcribe(recorded(recording), "en")
    for name, language, content in (
        ("tiny", "en", b"fLaC and more"),
        ("base", "de", b"fLaC and more"),
        ("base", "en", b"fLaC and less"),
    ):
        recording.write_bytes(content)
        later, inner = ears(folder, name, script=[AGAIN])
        assert later.transcribe(recorded(recording), language) == AGAIN, (name, language, content)
        assert len(inner.heard) == 1


@pytest.mark.parametrize("fitted", [AGAIN, None])
def test_a_fitted_hearing_is_kept_beside_the_whole_one_and_so_is_that_there_is_none(
    folder: Path, recording: Path, fitted: Transcript | None
) -> None:
    once, inner = ears(folder)
    inner.fitted = fitted
    assert once.transcribe_fitted(recorded(recording), "en") == fitted
    assert once.transcribe(recorded(recording), "en") == FIRST
    later, other = ears(folder)
    other.fitted = FIRST
    assert later.transcribe_fitted(recorded(recording), "en") == fitted


def test_the_same_order_is_decoded_once(folder: Path) -> None:
    made = decoder(folder)[0].decode(order())
    assert made == read_as(RIGHT)
    later, idle = decoder(folder, script=[AWAY])
    assert later.decode(order()) == made
    assert not idle.asked


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        (order("a large latte with soy milk"), MODEL),
        (order(SAID + " please"), MODEL),
        (order(menu=OTHER_MENU), MODEL),
        (order(second="a large flat white"), MODEL),
        (order(), "other-model.gguf"),
    ],
    ids=["other words", "the same cart in other words", "other menu", "other second words", "other model"],
)
def test_what_a_cart_depends_on_makes_it_decoded_anew(folder: Path, asked: CartRequest, model: str) -> None:
    decoder(folder)[0].decode(order())
    later, inner = decoder(folder, model)
    later.decode(asked)
    assert inner.asked == [asked]


def test_another_prompt_under_the_same_mask_is_decoded_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder(folder)[0].decode(order())
    monkeypatch.setattr(MenuContext, "messages", lambda *_, **__: [{"role": "user", "content": "hello"}])
    later, inner = decoder(folder)
    later.decode(order())
    assert len(inner.asked) == 1


def test_other_code_below_makes_all_anew(
    folder: Path, recording: Path, other_code: Callable[[], None]
) -> None:
    ears(folder)[0].transcribe(recorded(recording), "en")
    decoder(folder)[0].decode(order())
    other_code()
    (later, heard), (decodes, asked) = ears(folder, script=[AGAIN]), decoder(folder)
    assert later.transcribe(recorded(recording), "en") == AGAIN
    decodes.decode(order())
    assert (len(heard.heard), len(asked.asked)) == (1, 1)


def test_an_error_is_not_kept(folder: Path, recording: Path) -> None:
    kept = Kept(folder)
    hears = KeptTranscriber(ScriptedTranscriber([AWAY, FIRST]), "base", kept)
    decodes = KeptDecoder(ScriptedDecoder([AWAY, RIGHT]), MODEL, kept)
    with pytest.raises(EngineUnavailable):
        hears.transcribe(recorded(recording), "en")
    with pytest.raises(EngineUnavailable):
        decodes.decode(order())
    assert not list(folder.iterdir())
    assert not kept.made
    assert hears.transcribe(recorded(recording), "en") == FIRST
    assert decodes.decode(order()) == read_as(RIGHT)
    assert kept.made == {"hearings": 1, "carts": 1}


@pytest.mark.parametrize("damage", ["empty", "half", "of other fields", "no text"])
def test_a_damaged_answer_is_made_anew(folder: Path, recording: Path, damage: str) -> None:
    ears(folder)[0].transcribe(recorded(recording), "en")
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(
        {
            "empty": b"",
            "half": whole[: len(whole) // 2],
            "of other fields": b'{"words_v2": []}',
            "no text": b"\xff",
        }[damage]
    )
    later, inner = ears(folder, script=[AGAIN])
    assert later.transcribe(recorded(recording), "en") == AGAIN
    assert len(inner.heard) == 1
    assert ears(folder, script=[AWAY])[0].transcribe(recorded(recording), "en") == AGAIN
    assert [path.name for path in folder.iterdir()] == [file.name]


def test_what_was_there_and_what_was_made_is_counted_by_kind(folder: Path, recording: Path) -> None:
    first, later = Kept(folder), Kept(folder)
    for kept in (first, later):
        hears = KeptTranscriber(ScriptedTranscriber([FIRST]), "base", kept)
        decodes = KeptDecoder(ScriptedDecoder([RIGHT]), MODEL, kept)
        hears.transcribe(recorded(recording), "en")
        hears.quiet_words(recorded(recording), "en")
        decodes.decode(order())
    assert (first.made, first.taken) == ({"hearings": 2, "carts": 1}, {})
    assert (later.made, later.taken) == ({}, {"hearings": 2, "carts": 1})
