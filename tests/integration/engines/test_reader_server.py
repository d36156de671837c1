"""The generator on a small real model: predictions change how an answer is decoded, but not the answer, and
menus are restored from their states."""

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
from services.decoding.server import prefix_cache
from services.decoding.server.generation import CHUNK, Answer, Generator
from services.decoding.server.model import Llama, release_pages
from services.decoding.server.prefix_cache import MIN_TOKENS, RETRY_S, PrefixCache
from services.decoding.server.request import ChatRequest, ChatTurn
from services.decoding.server.state_folder import StateFolder

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


class Session:
    """Sends orders to a generator, as the server does."""

    def __init__(self, model: Llama, cache: PrefixCache) -> None:
        self.model, self.vocabulary, self.cache = model, model.vocabulary, cache
        self.generator = Generator(cache, tokenizer(model), model.vocabulary.end)

    def tokens(self, menu: str, said: str) -> list[int]:
        return self.model.chat_tokens(
            [{"role": "system", "content": menu}, {"role": "user", "content": said}]
        )

    def ask(
        self,
        said: str,
        *,
        menu: str = CAKES,
        grammar: str = CAKE,
        prediction: str | list[int] = "",
        max_tokens: int = 20,
        cancelled: Callable[[], bool] = lambda: False,
        menu_s: float = 0.0,
    ) -> Answer:
        prompt, other = self.tokens(menu, said), self.tokens(menu, "~")
        shared = next(n for n, pair in enumerate(zip(prompt, other, strict=False)) if len(set(pair)) > 1)
        guess = self.vocabulary.tokenize(prediction) if isinstance(prediction, str) else prediction
        turn = ChatTurn(role="user", content=said)
        request = ChatRequest(messages=[turn], grammar=grammar, max_tokens=max_tokens, menu_s=menu_s)
        return self.generator.generate(prompt, shared, guess, request, cancelled)

    def text(self, answer: Answer) -> str:
        words = answer.tokens[:-1] if answer.ended else answer.tokens
        return b"".join(self.vocabulary.piece(one.token) for one in words).decode()


def started(model: Llama, states: Path) -> Session:
    """Return the session of an engine that was just started."""
    model.truncate(0)
    return Session(model, PrefixCache(model, StateFolder(states, "")))


@pytest.fixture
def session(model: Llama, tmp_path: Path) -> Session:
    return started(model, tmp_path)


def logprob(answer: Answer) -> float:
    return sum(one.logprob for one in answer.tokens)


def test_a_right_prediction_is_verified_not_decoded(session: Session) -> None:
    written = session.ask("one plum cake please")
    drawn = [one.token for one in written.tokens[:-1]]
    checked = session.ask("one plum cake please", prediction=drawn)
    assert written.ended
    assert checked.ended
    assert [one.token for one in checked.tokens] == [one.token for one in written.tokens]
    # The untrained model finds it unlikely (-23 in all), and rounding depends on the batch.
    assert logprob(checked) == pytest.approx(logprob(written), rel=0.01)
    assert (written.accepted, checked.accepted) == (0, len(checked.tokens) - 1)


@pytest.mark.parametrize("prediction", ["9 lemon tart", "1", "1 plum cakes and more", "quixotry", "é"])
def test_a_wrong_prediction_changes_nothing(session: Session, prediction: str) -> None:
    written = session.ask("one plum cake please")
    assert session.text(written) != prediction
    checked = session.ask("one plum cake please", prediction=prediction)
    assert [one.token for one in checked.tokens] == [one.token for one in written.tokens]
    assert logprob(checked) == pytest.approx(logprob(written), rel=0.01)
    assert checked.accepted < len(checked.tokens)


def test_forced_tokens_are_scored_without_the_mask(session: Session) -> None:
    forced = session.ask("one plum cake please", grammar=ALONE, prediction="quixotry")
    assert session.text(forced) == "quixotry"
    assert forced.tokens[0].best != forced.tokens[0].token
    assert logprob(forced) < math.log(0.001)


def test_a_mask_that_does_not_compile_is_an_error(session: Session) -> None:
    with pytest.raises(DecodeInvalid):
        session.ask("one plum cake please", grammar="%llguidance {}\nstart: MISSING\n")


def test_a_prompt_over_the_context_is_an_error_for_itself_only(session: Session) -> None:
    with pytest.raises(EngineMisconfigured):
        session.ask("one plum cake please " * 60)
    assert session.ask("one plum cake please").ended


def test_a_menu_is_evaluated_once_and_restored_after_another(session: Session) -> None:
    first = session.ask("one plum cake please")
    again = session.ask("two apple cakes")
    session.ask("a green tea", menu=TEAS, grammar="", max_tokens=1)
    back = session.ask("one plum cake please")
    assert first.cached == 0
    assert again.cached >= MIN_TOKENS
    assert back.cached == again.cached
    assert [one.token for one in back.tokens] == [one.token for one in first.tokens]
    assert logprob(back) == pytest.approx(logprob(first), abs=0.05)


def test_a_restart_restores_the_menu_from_disk(model: Llama, tmp_path: Path) -> None:
    def cached(about: str = "a model", *, adapted: bool = True) -> int:
        model.truncate(0)
        session = Session(model, PrefixCache(model, StateFolder(tmp_path / "states", about), adapted=adapted))
        return session.ask("one plum cake please", menu_s=60).cached

    assert cached() == 0
    (file,) = (tmp_path / "states").iterdir()
    assert (file.stat().st_mode | file.parent.stat().st_mode) & 0o077 == 0
    assert cached() >= MIN_TOKENS
    assert (cached("another model"), cached(adapted=False)) == (0, 0)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert cached() == 0  # and the file is written again
    assert cached() >= MIN_TOKENS


def test_the_folder_is_limited_and_evicts_the_least_recently_used_menu(
    session: Session, tmp_path: Path
) -> None:
    """An order of the menu that was read last counts as use, too."""
    for menu in (CAKES, TEAS):
        session.ask("one please", menu=menu, grammar="", max_tokens=1)
    states = sorted(tmp_path.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    for file in states:
        os.utime(file, (1, 1))
    session.ask("one please", menu=CAKES, grammar="", max_tokens=1)
    assert [file.stat().st_mtime > 1 for file in states] == [True, False]
    room = int(2.5 * states[0].stat().st_size)
    StateFolder(tmp_path, "", room).put(True, [1], states[0].read_bytes())
    assert [file.exists() for file in states] == [True, False]


def test_an_unwritable_folder_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    states = StateFolder(tmp_path / "file", "")
    states.put(True, [1], b"state")
    assert not states.use(True, [1])
    assert states.get(True, [1]) is None


def test_a_disconnect_stops_a_batch_and_the_menu_is_continued_later(file: Path, tmp_path: Path) -> None:
    """A batch takes more than a second. The answer is that of an engine that was never stopped."""
    models = [Llama(file, context=768, batch=256, threads=1) for _ in range(2)]
    stopped, other = (started(model, tmp_path / str(n)) for n, model in enumerate(models))
    checks: list[float] = []

    def disconnected() -> bool:
        """Return True a while after the second batch began."""
        if stopped.cache._tokens:
            checks.append(time.monotonic())
        return len(checks) > 2

    with pytest.raises(DecodeCancelled):
        stopped.ask("one plum cake please", menu=CAKES * 6, cancelled=disconnected)
    assert time.monotonic() - checks[-2] < 0.5, "after the last check that found a connection"
    stopped.ask("a green tea", menu=TEAS, grammar="", max_tokens=1)
    went_on, whole = (session.ask("one plum cake please", menu=CAKES * 6) for session in (stopped, other))
    assert (went_on.cached, whole.cached) == (256, 0)
    assert went_on.tokens == whole.tokens


AT_ONCE = 1e-9


def test_a_new_menu_is_evaluated_in_chunks_between_other_orders(session: Session, tmp_path: Path) -> None:
    whole = session.text(session.ask("a green tea", menu=TEAS, grammar="", max_tokens=3))
    session = started(session.model, tmp_path / "new")
    cake = session.text(session.ask("one plum cake please"))
    pieces = 0
    while True:
        try:
            answer = session.ask("a green tea", menu=TEAS, grammar="", max_tokens=3, menu_s=AT_ONCE)
            break
        except MenuBeingRead:
            pieces += 1
        assert session.text(session.ask("one plum cake please", menu_s=AT_ONCE)) == cake
    assert pieces == len(session.tokens(TEAS, "~")) // CHUNK
    assert session.text(answer) == whole


def test_new_menus_are_evaluated_one_at_a_time(session: Session) -> None:
    waits = []
    for menu in (TEAS, BREADS) * 2:
        with pytest.raises(MenuBeingRead) as pending:
            session.ask("one please", menu=menu, grammar="", max_tokens=1, menu_s=AT_ONCE)
        waits.append(pending.value.wait_s)
    assert waits == [0.0, RETRY_S] * 2
    teas, breads = (
        session.ask("one please", menu=menu, grammar="", max_tokens=1, menu_s=60).cached
        for menu in (TEAS, BREADS)
    )
    assert teas >= 2 * CHUNK, "it was continued, not restarted"
    assert breads < CHUNK


def test_abandoned_partial_menus_block_no_others(
    model: Llama, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefix_cache, "ABANDONED_S", 0.0)
    session = started(model, tmp_path)
    for menu in (TEAS, BREADS, CAKES):
        with pytest.raises(MenuBeingRead) as pending:
            session.ask("one please", menu=menu, grammar="", max_tokens=1, menu_s=AT_ONCE)
        assert pending.value.wait_s == 0.0


def test_released_pages_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mapped"
    file.write_bytes(b"saycart!" * 2**20)
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:

        def resident() -> int:
            maps = psutil.Process().memory_maps()
            return sum(one.rss for one in maps if one.path == str(file))

        assert mapped.find(b"?") == -1  # reads all of it
        before = resident()
        release_pages(file)
        assert resident() < before // 4
        assert mapped[-8:] == b"saycart!"
