"""The claim's masked form on a real engine: the smallest model can't leave it, and names the menu's items."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.engines.decoding.completion import constraint
from tests.bench.chat import Chat
from tests.bench.claim import form
from tests.bench.claim.judging import judge
from tests.bench.claim.pipelines import sampling
from tests.bench.orders import menu_of
from tests.engines.running import Engine, llama

pytestmark = pytest.mark.models
MENU = menu_of("harbor-coffee")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with llama(tmp_path_factory.mktemp("claim")) as running:
        yield running


@pytest.mark.parametrize("items", [False, True])
def test_the_smallest_model_keeps_to_the_form(engine: Engine, items: bool) -> None:
    grammar = constraint(engine.dialect, form.grammar(MENU, items=items))
    said = [{"role": "user", "content": "Two large lattes with oat milk, and tell me a story."}]
    answer = Chat(engine.url, engine.model).ask(said, max_tokens=60, **sampling(0.7, "x"), **grammar)
    found = judge(answer, MENU)
    assert found.failure in (None, "truncated"), answer  # it may go on to the limit, and not out of the form
    assert answer.text.startswith('{"items":[')
    if items:
        assert not found.unknown
