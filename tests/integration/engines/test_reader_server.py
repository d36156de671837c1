"""The reader's server over a small real model: a prediction changes how an answer is made and not the answer,
and what was made of a menu is taken up again."""

from __future__ import annotations

import math
import mmap
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import psutil
import pytest
from llguidance import LLTokenizer

from infra.settings import settings
from infra.weights.lock import ModelError
from infra.weights.models import resolve
from schemas.errors import DecodeCancelled, DecodeInvalid, EngineMisconfigured, MenuBeingRead
from services.decoding.server import prefixes as prefixes_module
from services.decoding.server.answering import STEP, Answer, Answering
from services.decoding.server.model import Llama, release_pages
from services.decoding.server.prefixes import AGAIN_S, LEAST_TOKENS, Prefixes
from services.decoding.server.states import StateFolder

MODEL = "smollm2-135m-instruct-q4_1.gguf"
CAKES = "Menu: apple cake, plum cake, cheese cake, lemon tart, pear tart, rye bread, corn bread, scone. " * 3
TEAS = "Menu: black tea, green tea, mint tea, ginger tea, white tea, oolong, rooibos, chamomile, maté. " * 3
BREADS = "Menu: rye bread, corn bread, white bread, toast, bun, bagel, pretzel, roll, scone, crumpet. " * 3
CAKE = """%llguidance {}
start: NUMBER " " KIND
NUMBER: /[1-9]/
KIND: "apple cake" | "plum cake" | "lemon tart"
"""
ALONE = '%llguidance {}\nstart: "quixotry"\n'


@pytest.fixture(scope="module")
def file() -> Path:
    here = settings()
    try:
        return Path(resolve(MODEL, here.models_dir))
    except ModelError:
        pytest.skip("the small test model is not here: saycart models fetch --tests")


@pytest.fixture(scope="module")
def model(file: Path) -> Llama:
    return Llama(file, context=256, batch=64, threads=1)


@cache
def tokenizer(model: Llama) -> LLTokenizer:
    return model.vocabulary.tokenizer()


class Desk:
    """One reader: asks it about a menu, as the server does."""

    def __init__(self, model: Llama, prefixes: Prefixes) -> None:
        self.model, self.vocabulary, self.prefixes = model, model.vocabulary, prefixes
        self.answering = Answering(prefixes, tokenizer(model), model.vocabulary.end)

    def tokens(self, menu: str, said: str) -> list[int]:
        return self.model.chat([{"role": "system", "content": menu}, {"role": "user", "content": said}])

    def ask(
        self,
        said: str,
        *,
        menu: str = CAKES,
        grammar: str = CAKE,
        prediction: str | list[int] = "",
        most: int = 20,
        cancelled: Callable[[], bool] = lambda: False,
        menu_s: float = 0.0,
    ) -> Answer:
        prompt, other = self.tokens(menu, said), self.tokens(menu, "~")
        shared = next(n for n, pair in enumerate(zip(prompt, other, strict=False)) if len(set(pair)) > 1)
        guess = self.vocabulary.tokenize(prediction) if isinstance(prediction, str) else prediction
        return self.answering.answer(
            prompt,
            shared,
            grammar=grammar,
            prediction=guess,
            most=most,
            cancelled=cancelled,
            menu_s=menu_s,
        )

    def text(self, answer: Answer) -> str:
        words = answer.tokens[:-1] if answer.ended else answer.tokens
        return b"".join(self.vocabulary.piece(one.token) for one in words).decode()


@pytest.fixture
def desk(model: Llama) -> Desk:
    model.cut(0)
    return Desk(model, Prefixes(model))


def logprob(answer: Answer) -> float:
    return sum(one.logprob for one in answer.tokens)


def test_a_prediction_that_holds_is_checked_and_not_written(desk: Desk) -> None:
    written = desk.ask("one plum cake please")
    drawn = [one.token for one in written.tokens[:-1]]
    checked = desk.ask("one plum cake please", prediction=drawn)
    assert written.ended
    assert checked.ended
    assert [one.token for one in checked.tokens] == [one.token for one in written.tokens]
    # An unlikely answer to an untrained model, -23 in all; what is rounded depends on the batch.
    assert logprob(checked) == pytest.approx(logprob(written), rel=0.01)
    assert (written.accepted, checked.accepted) == (0, len(checked.tokens) - 1)


@pytest.mark.parametrize("prediction", ["9 lemon tart", "1", "1 plum cakes and more", "quixotry", "é"])
def test_a_prediction_that_does_not_hold_changes_nothing(desk: Desk, prediction: str) -> None:
    written = desk.ask("one plum cake please")
    assert desk.text(written) != prediction
    checked = desk.ask("one plum cake please", prediction=prediction)
    assert [one.token for one in checked.tokens] == [one.token for one in written.tokens]
    assert logprob(checked) == pytest.approx(logprob(written), abs=0.05)
    assert checked.accepted < len(checked.tokens)


def test_what_the_mask_forces_is_scored_by_what_the_model_would_have_said(desk: Desk) -> None:
    forced = desk.ask("one plum cake please", grammar=ALONE, prediction="quixotry")
    assert desk.text(forced) == "quixotry"
    assert forced.tokens[0].best != forced.tokens[0].token
    assert forced.tokens[0].logprob < forced.tokens[0].best_logprob <= 0.0
    assert logprob(forced) < math.log(0.001)


def test_a_mask_that_does_not_compile_is_an_error(desk: Desk) -> None:
    with pytest.raises(DecodeInvalid):
        desk.ask("one plum cake please", grammar="%llguidance {}\nstart: MISSING\n")


def test_a_prompt_without_room_is_an_error_and_the_next_is_answered(desk: Desk) -> None:
    with pytest.raises(EngineMisconfigured):
        desk.ask("one plum cake please " * 60)
    assert desk.ask("one plum cake please").ended


def test_the_menu_is_read_once_and_taken_up_after_another(desk: Desk) -> None:
    first = desk.ask("one plum cake please")
    again = desk.ask("two apple cakes")
    desk.ask("a green tea", menu=TEAS, grammar="", most=1)
    back = desk.ask("one plum cake please")
    assert first.cached == 0
    assert again.cached >= LEAST_TOKENS
    assert back.cached == again.cached
    assert [one.token for one in back.tokens] == [one.token for one in first.tokens]
    assert logprob(back) == pytest.approx(logprob(first), abs=0.05)


def test_memory_holds_no_more_than_it_may_and_the_menu_used_longest_ago_goes_first(model: Llama) -> None:
    model.cut(0)
    desk = Desk(model, Prefixes(model))
    for menu in (CAKES, TEAS):
        desk.ask("one please", menu=menu, grammar="", most=1)
    desk = Desk(model, Prefixes(model, memory_bytes=int(2.5 * len(model.state()))))
    used = (CAKES, TEAS, CAKES, BREADS, TEAS)
    cached = [desk.ask("one please", menu=menu, grammar="", most=1).cached for menu in used]
    assert [tokens >= LEAST_TOKENS for tokens in cached] == [False, False, True, False, False]


def test_a_new_start_takes_up_the_menu_from_disk(model: Llama, tmp_path: Path) -> None:
    def started(about: str = "a model", *, adapted: bool = True) -> int:
        model.cut(0)
        desk = Desk(model, Prefixes(model, StateFolder(tmp_path / "states", about), adapted=adapted))
        return desk.ask("one plum cake please", menu_s=60).cached

    assert started() == 0
    (file,) = (tmp_path / "states").iterdir()
    assert (file.stat().st_mode | file.parent.stat().st_mode) & 0o077 == 0
    assert started() >= LEAST_TOKENS
    assert (started("another model"), started(adapted=False)) == (0, 0)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert started() == 0  # and it is written again
    assert started() >= LEAST_TOKENS


def test_the_folder_holds_no_more_than_it_may_and_the_menu_used_longest_ago_goes_first(
    model: Llama, tmp_path: Path
) -> None:
    """Also where a menu was only ever taken up from memory."""
    model.cut(0)
    desk = Desk(model, Prefixes(model, StateFolder(tmp_path, "")))
    for menu in (CAKES, TEAS):
        desk.ask("one please", menu=menu, grammar="", most=1)
    states = sorted(tmp_path.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    for file in states:
        os.utime(file, (1, 1))
    desk.ask("one please", menu=CAKES, grammar="", most=1)
    assert [file.stat().st_mtime > 1 for file in states] == [True, False]
    room = int(2.5 * states[0].stat().st_size)
    StateFolder(tmp_path, "", room).put(True, [1], states[0].read_bytes())
    assert [file.exists() for file in states] == [True, False]


def test_a_folder_that_can_not_be_written_costs_time_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    states = StateFolder(tmp_path / "file", "")
    states.put(True, [1], b"state")
    states.used(True, [1])
    assert states.get(True, [1]) is None


def test_a_client_that_leaves_within_a_batch_ends_it_and_the_menu_is_gone_on_with(file: Path) -> None:
    """A batch of these takes more than a second. The answer is that of an engine that was never stopped."""
    models = [Llama(file, context=768, batch=256, threads=1) for _ in range(2)]
    stopped, other = (Desk(model, Prefixes(model)) for model in models)
    asked: list[float] = []

    def left() -> bool:
        """A while after the second batch began."""
        if stopped.prefixes._held:
            asked.append(time.monotonic())
        return len(asked) > 2

    with pytest.raises(DecodeCancelled):
        stopped.ask("one plum cake please", menu=CAKES * 6, cancelled=left)
    assert time.monotonic() - asked[-2] < 0.5, "since it was not gone yet"
    stopped.ask("a green tea", menu=TEAS, grammar="", most=1)
    went_on, whole = (desk.ask("one plum cake please", menu=CAKES * 6) for desk in (stopped, other))
    assert (went_on.cached, whole.cached) == (256, 0)
    assert went_on.tokens == whole.tokens


AT_ONCE = 1e-9


def test_a_new_menu_is_read_in_pieces_and_orders_of_others_are_answered_between(desk: Desk) -> None:
    whole = desk.text(desk.ask("a green tea", menu=TEAS, grammar="", most=3))
    desk.model.cut(0)
    desk = Desk(desk.model, Prefixes(desk.model))
    cake = desk.text(desk.ask("one plum cake please"))
    pieces = 0
    while True:
        try:
            answer = desk.ask("a green tea", menu=TEAS, grammar="", most=3, menu_s=AT_ONCE)
            break
        except MenuBeingRead:
            pieces += 1
        assert desk.text(desk.ask("one plum cake please", menu_s=AT_ONCE)) == cake
    assert pieces == len(desk.tokens(TEAS, "~")) // STEP
    assert desk.text(answer) == whole


def test_one_new_menu_is_read_at_a_time_and_another_waits_for_it(desk: Desk) -> None:
    waits = []
    for menu in (TEAS, BREADS) * 2:
        with pytest.raises(MenuBeingRead) as handed_back:
            desk.ask("one please", menu=menu, grammar="", most=1, menu_s=AT_ONCE)
        waits.append(handed_back.value.wait_s)
    assert waits == [0.0, AGAIN_S] * 2
    teas, breads = (
        desk.ask("one please", menu=menu, grammar="", most=1, menu_s=60).cached for menu in (TEAS, BREADS)
    )
    assert teas >= 2 * STEP, "it was not begun again"
    assert breads < STEP


def test_half_read_menus_that_are_not_asked_for_again_make_room(
    model: Llama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefixes_module, "ABANDONED_S", 0.0)
    model.cut(0)
    desk = Desk(model, Prefixes(model))
    for menu in (TEAS, BREADS, CAKES):
        with pytest.raises(MenuBeingRead) as handed_back:
            desk.ask("one please", menu=menu, grammar="", most=1, menu_s=AT_ONCE)
        assert handed_back.value.wait_s == 0.0


def test_pages_of_a_file_that_were_read_are_given_back_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mapped"
    file.write_bytes(b"saycart!" * 2**20)
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:

        def resident() -> int:
            maps = psutil.Process().memory_maps()
            return sum(one.rss for one in maps if one.path == str(file))

        assert mapped.find(b"?") == -1  # touches all of it
        before = resident()
        release_pages(file)
        assert resident() < before // 4
        assert mapped[-8:] == b"saycart!"
