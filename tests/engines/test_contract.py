"""The contract of decode servers, tested with real weights on the embedded engine, llama.cpp's own server and
vLLM.

The first two always run, with a tiny model: the mask makes its carts valid. vLLM needs its own environment
(`make test-vllm`).
"""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from schemas.cart import SCHEMA
from schemas.errors import DecodeCancelled, DecodeTruncated, EngineUnavailable
from services.cli.commands.doctor_engine import AWKWARD
from services.clients.masked.saycart_masked import Mask, OutputType, masked
from services.decoding import decode_cart
from services.decoding import decoder as decoder_module
from services.decoding.menu_names import Names
from services.decoding.ports import CartRequest
from services.decoding.wire_mask import wire_mask
from services.decoding.wire_schema import wire_schema
from services.examples.registered import EXAMPLES, TASKS
from tests.engines.running import RARELY_S, START_S, Engine, embedded, has_vllm, living, llama, vllm
from tests.stand_ins import CAFE, SAID, sample_menu

pytestmark = pytest.mark.models

ENGINES = {"embedded": embedded, "llama.cpp": llama, "vllm": vllm}
NO_VLLM = pytest.mark.skipif(not has_vllm(), reason="needs vLLM: `make test-vllm`")

ORDERS = {
    "harbor-coffee": (
        "two large oat lattes please",
        "a small mocha with an extra shot and a blueberry muffin",
        "uh can I get an iced americano, no wait, make that a cold brew",
        "three croissants, one toasted",
        "a flat white with soy and light foam",
        "do you have any dragon fruit tea, and a hot chocolate",
    ),
    "copper-skillet": (
        "a cheeseburger with no onions and large fries",
        "two pancakes with extra syrup and a black coffee",
        "one club sandwich on rye, hold the mayo",
        "I'd like the eggs benedict and an orange juice",
        "a bowl of tomato soup and garlic bread for the kids",
        "four milkshakes, two vanilla and two chocolate",
    ),
}
CHAT = [{"role": "user", "content": "Say something."}]
ENDLESS = Mask("%llguidance {}\nstart: /[a-z]{4000}/\n", "endless", 4000)
WORD = Mask('%llguidance {}\nstart: "quixotry"\n', "word", 16)
WHOLE = 900  # tokens; of an endless answer more were seen


@pytest.fixture(
    scope="module", params=["embedded", "llama.cpp", pytest.param("vllm", marks=NO_VLLM)], ids=list(ENGINES)
)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with ENGINES[request.param](tmp_path_factory.mktemp("engine")) as running:
        yield running


@pytest.mark.parametrize("menu_id", ORDERS)
def test_every_order_gives_a_cart_inside_its_mask(engine: Engine, menu_id: str) -> None:
    menu, decoder = sample_menu(menu_id), engine.decoder()
    whole = 0
    for said in ORDERS[menu_id][:: 1 if engine.dialect == "vllm" else 2]:
        try:
            decoded = decoder.decode(CartRequest(said, menu))
        except DecodeTruncated:  # a tiny model that was not trained may go on and on
            continue
        whole += 1
        # The client checks this as well.
        assert wire_mask(Names(menu), said).accepts(decoded.text), said
        assert (decoded.by.decoder, decoded.trained) == (f"{engine.dialect}:{engine.model}", False)
        assert decoded.by.completion_tokens > 0
        assert decoded.logprob < 0, "scored without the mask"
    assert whole


def test_the_answer_follows_bounds_and_fields_of_the_schema(engine: Engine) -> None:
    schema = copy.deepcopy(SCHEMA)
    schema["properties"]["lines"] |= {"maxItems": 1, "default": []}
    schema["properties"]["lines"]["items"]["oneOf"].pop()  # wishes off the menu
    item = schema["$defs"]["ItemLine"]["properties"]
    item["quantity"] = {"type": "integer", "minimum": 7, "maximum": 7}
    item["warmth"] = {"type": "string", "enum": ["hot", "cold"]}
    mask = wire_mask(Names(CAFE), SAID, wire_schema(schema))
    (line,) = json.loads(engine.decoder().complete(CHAT, mask).text)["lines"]
    assert (line["quantity"], line["warmth"] in ("hot", "cold")) == (7, True)


@pytest.mark.parametrize("text", AWKWARD)
def test_a_text_comes_back_whole(engine: Engine, text: str) -> None:
    mask = Mask(f"%llguidance {{}}\nstart: {json.dumps(text, ensure_ascii=False)}\n", "a", len(text.encode()))
    assert engine.decoder().complete(CHAT, mask).text == text


def test_a_cart_that_was_cut_off_is_an_error(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode_cart, "MAX_TOKENS", 4)
    with pytest.raises(DecodeTruncated, match="length"):
        engine.decoder().decode(CartRequest(SAID, CAFE))


def test_the_menu_is_cached_for_the_next_order(engine: Engine) -> None:
    menu = sample_menu("harbor-coffee")
    decoder = engine.decoder()
    decoder.warm(menu)
    decoded = decoder.decode(CartRequest("a cappuccino", menu))
    # vLLM caches blocks of 128 tokens.
    assert decoded.by.cached_tokens > decoded.by.prompt_tokens - 200
    assert decoded.by.cached_tokens > 500


def test_the_adapter_is_used_by_name(engine: Engine) -> None:
    """Its answer, how sure it is, and the menu kept for the next order.

    The embedded server's is asked in tests/integration/engines/test_reader.py: the tiny model has none.
    """
    if not engine.adapter:
        pytest.skip("no adapter was trained for this server's model")
    decoder, menu = engine.decoder(adapter=engine.adapter, timeout_s=300.0), sample_menu("harbor-coffee")
    said = CartRequest("a small mocha with an extra shot and a blueberry muffin", menu)
    found, again = decoder.decode(said), decoder.decode(CartRequest("an iced americano", menu))
    assert found.by.decoder == f"{engine.dialect}:{engine.adapter}"
    assert found.trained
    assert again.by.cached_tokens > again.by.prompt_tokens - 200, "the menu is evaluated once"
    if engine.dialect == "vllm":
        assert not engine.decoder(adapter="another").decode(said).trained, "it has no such adapter"


class Ticket(BaseModel):
    """What any model, however small, can only fill in as it is."""

    priority: Literal["low", "medium", "high"]
    days: Annotated[int, Field(ge=0, le=30)]
    tags: Annotated[list[Annotated[str, Field(max_length=12, pattern="^[a-z]+$")]], Field(max_length=2)]
    note: Annotated[str, Field(max_length=20)] | None


def test_any_pydantic_model_can_be_a_mask(engine: Engine) -> None:
    """Greedy and sampled, scored, and with a grammar other than JSON; a truncated answer is an error."""
    chat = [{"role": "user", "content": "Sort this ticket: the checkout is down and no one can pay."}]
    output, decoder = OutputType.of(Ticket), engine.decoder()
    for temperature in (0.0, 1.5):
        found = masked(output, chat, engine=decoder, temperature=temperature, seed=7, score=not temperature)
        assert output.mask.accepts(found.completed.text)
        assert isinstance(found.value, Ticket)
        assert 0 < found.completed.completion_tokens <= output.mask.longest
        if not temperature:
            assert found.probability is not None
            assert {"/priority", "/days"} <= set(found.probability)
            assert all(0 <= probability <= 1 for probability in found.probability.values())
    word = OutputType.by_grammar('start: "quixotry" | "zebra"', 8, str)
    assert masked(word, chat, engine=decoder).value in ("quixotry", "zebra")
    short = replace(output, mask=replace(output.mask, longest=-6))  # two tokens, with the room for an end
    with pytest.raises(DecodeTruncated, match="length"):
        masked(short, chat, engine=decoder)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_example_is_answered_under_its_mask(engine: Engine, name: str) -> None:
    """The server's own llguidance handles grammars other than JSON, patterns and unions."""
    task = TASKS[name]
    (row,) = next(example for example in EXAMPLES if example.task.name == name).rows(1)
    text = engine.decoder().complete(task.messages(row.text), task.output.mask).text
    assert task.output.mask.accepts(text)


def test_concurrent_orders_get_their_own_answers(engine: Engine) -> None:
    """32 for vLLM, which runs them concurrently; llama.cpp has two slots, so most of 8 wait."""
    count = 32 if engine.dialect == "vllm" else 8
    decoder = engine.decoder(timeout_s=300.0)
    words = [f"order-{number}" for number in range(count)]
    masks = [Mask(f'%llguidance {{}}\nstart: "{word}"\n', "word", 32) for word in words]
    with ThreadPoolExecutor(count) as pool:
        found = list(pool.map(lambda mask: decoder.complete(CHAT, mask).text, masks))
    assert found == words, "answers were mixed up"
    engine.until(lambda: engine.busy() == 0)


def test_a_cancelled_decode_stops_on_the_server(engine: Engine) -> None:
    decoder, called_off, before = engine.decoder(), threading.Event(), engine.written()
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(decoder.complete, CHAT, ENDLESS, called_off=called_off)
        engine.until(lambda: engine.busy() > 0 or work.done())
        called_off.set()
        with pytest.raises(DecodeCancelled):
            work.result(30)
    engine.until(lambda: engine.busy() == 0, RARELY_S)
    assert engine.written() - before < WHOLE, "it was decoded to the end"
    assert decoder.complete(CHAT, WORD).text


def test_a_decode_over_its_timeout_is_an_outage_and_stops_on_the_server(engine: Engine) -> None:
    began, before = time.monotonic(), engine.written()
    with pytest.raises(EngineUnavailable, match="did not answer within"):
        engine.decoder(timeout_s=0.3).complete(CHAT, ENDLESS)
    assert time.monotonic() - began < 20
    engine.until(lambda: engine.busy() == 0, RARELY_S)
    assert engine.written() - before < WHOLE, "it was decoded to the end"
    assert engine.decoder().complete(CHAT, WORD).text


def test_it_recovers_from_a_crash_during_an_order(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine.crash is None:
        pytest.skip("this server is not ours to kill")
    monkeypatch.setattr(decoder_module, "RECOVERY_S", 0.0)
    decoder = engine.decoder(patience_s=60.0)
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(decoder.complete, CHAT, ENDLESS)
        engine.until(lambda: engine.busy() > 0 or work.done())
        killed = engine.crash()
        with pytest.raises(EngineUnavailable):
            work.result(60)
    with pytest.raises(EngineUnavailable):
        decoder.complete(CHAT, WORD)
    monkeypatch.setattr(decoder_module, "RECOVERY_S", START_S)
    assert decoder.complete(CHAT, WORD).text, "an order waits while the model loads"
    assert not living(killed), "processes were left behind"
