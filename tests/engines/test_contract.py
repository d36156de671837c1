"""What a decode server must do for us, asked of the embedded engine, of llama.cpp's own server and of vLLM
alike, with real weights.

The first two are in every run, with a tiny model: the mask makes its carts whole, the model need not be
clever. vLLM joins where its environment is (`make test-vllm`).
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from schemas.errors import DecodeCancelled, DecodeInvalid, DecodeTruncated, EngineUnavailable
from schemas.evidence import Evidence
from schemas.menu import Menu
from services.decoding import reading
from services.decoding.mask import Mask
from services.engines.decoding import decoder as client
from services.engines.decoding import servers as several
from services.engines.decoding.servers import Servers
from services.engines.masks import grammar
from services.engines.masks.grammar import build_mask
from services.engines.masks.labels import Labels
from services.engines.ports import GREEDY, Sampling
from services.examples.registered import EXAMPLES, TASKS
from services.masked.call import answer
from services.masked.output import OutputType, output_type
from services.reading.order import read_order
from tests.engines.running import RARELY_S, START_S, Engine, embedded, has_vllm, living, llama, vllm
from tests.stand_ins import CAFE, SAID, sample_menu

pytestmark = pytest.mark.models

ENGINES = {"embedded": embedded, "llama.cpp": llama, "vllm": vllm}
NO_VLLM = pytest.mark.skipif(not has_vllm(), reason="no environment with vLLM: `make test-vllm` has one")

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
OPEN = ("two large oat lattes and a blueberry muffin", "a latte, medium, no oat milk, and a tea")
SHORT = "a large latte with oat milk"
BEYOND = '%llguidance {}\nstart: %json {"type": "object", "not": {"required": ["price"]}}\n'
LONG = " and ".join(f"a {word} latte with oat milk" for word in ("large", "small", "medium") * 3)
WHOLE = 400  # tokens; LONG's cart was seen to have 435


@pytest.fixture(
    scope="module", params=["embedded", "llama.cpp", pytest.param("vllm", marks=NO_VLLM)], ids=list(ENGINES)
)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with ENGINES[request.param](tmp_path_factory.mktemp("engine")) as running:
        yield running


def evidence(said: str, menu: Menu = CAFE) -> Evidence:
    return read_order(said, menu, 1)


def test_it_passes_the_probe(engine: Engine) -> None:
    engine.decoder().probe()


@pytest.mark.parametrize("menu_id", ORDERS)
def test_every_order_gives_a_cart_inside_its_mask(engine: Engine, menu_id: str) -> None:
    menu, decoder = sample_menu(menu_id), engine.decoder(whole=True)
    # llama.cpp decodes more of them in tests/e2e/test_nonsense.py.
    for said in ORDERS[menu_id][:: 1 if engine.dialect == "vllm" else 2]:
        heard = evidence(said, menu)
        decoded = decoder.decode(heard)
        # The client refuses anything else; this asks the mask once more, of the cart that was read.
        mask = build_mask(heard, Labels(menu), decoded.grammar)
        assert mask.accepts(Labels(menu).to_wire(decoded.draft)), said
        assert decoded.engine == f"{engine.dialect}:{engine.model}"
        assert decoded.completion_tokens > 0


def test_what_is_plainly_said_leaves_no_model_a_choice(engine: Engine) -> None:
    (line,) = engine.decoder().decode(evidence("two large oat lattes")).draft.lines[:1]
    assert (line.kind, line.quantity) == ("item", 2)
    assert line.model_dump()["sku"] == "latte"


@pytest.mark.parametrize("said", OPEN)
def test_only_choices_are_decoded(engine: Engine, said: str) -> None:
    """The server goes on with a beginning that it is given, under the grammar of what may follow."""
    heard = evidence(said).model_copy(update={"off_menu": ()})
    heard = heard.model_copy(
        update={"lines": tuple(line.model_copy(update={"required": False}) for line in heard.lines)}
    )
    mask = build_mask(heard, Labels(CAFE), "v")
    choices, whole = engine.decoder().decode(heard), engine.decoder(whole=True).decode(heard)
    for decoded in (choices, whole):
        assert mask.accepts(Labels(CAFE).to_wire(decoded.draft))
    assert choices.requests >= 1
    assert whole.requests == 1
    assert choices.prompt_tokens > whole.prompt_tokens, "the beginning is a part of the prompt"
    assert choices.completion_tokens < 16 * choices.requests
    if len(choices.draft.lines) >= len(whole.draft.lines) > 0:
        assert 3 * choices.completion_tokens <= whole.completion_tokens


def test_a_cart_that_was_cut_off_is_an_error(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def tight(*of: Any) -> Mask:
        return replace(build_mask(*of), longest=0)

    monkeypatch.setattr(client, "build_mask", tight)
    with pytest.raises(DecodeTruncated, match="length"):
        engine.decoder(whole=True).decode(evidence(SAID))


def test_the_fixed_part_of_the_prompt_is_kept_for_the_next_order(engine: Engine) -> None:
    menu = sample_menu("harbor-coffee")
    decoder = engine.decoder(whole=True)
    decoder.warm(evidence("hello", menu))
    decoded = decoder.decode(evidence("a cappuccino", menu))
    # vLLM keeps whole blocks of 128 tokens.
    assert decoded.cached_tokens > decoded.prompt_tokens - 200
    assert decoded.cached_tokens > 500


def test_a_cart_is_scored_without_the_mask(engine: Engine) -> None:
    decoded = engine.decoder(score=True).decode(evidence(SAID))
    assert decoded.scored is not None
    fields = {"/lines/0/kind", "/lines/0/heard", "/lines/0/sku", "/lines/0/quantity", "/lines/0/size"}
    assert fields <= set(decoded.scored.probability)
    assert all(0 <= probability <= 1 for probability in decoded.scored.probability.values())
    assert set(decoded.scored.overruled) <= {"", *decoded.scored.probability}
    # Were the scores those of masked tokens, each would be 1 wherever the mask leaves one way only.
    assert decoded.scored.probability["/lines/0/kind"] < 1
    assert engine.decoder().decode(evidence(SAID)).scored is None, "nobody asked for it"


def test_the_learned_reader_is_asked_by_its_name(engine: Engine) -> None:
    """Its answer, how sure it is, and the menu kept for the next order.

    The embedded server's is asked in tests/integration/engines/test_reader.py: the tiny model has none.
    """
    if not engine.adapter:
        pytest.skip("no adapter was trained for this server's model")
    decoder, menu = engine.decoder(adapter=engine.adapter, timeout_s=300.0), sample_menu("harbor-coffee")
    said = evidence("a small mocha with an extra shot and a blueberry muffin", menu)
    found, again = decoder.read(said), decoder.read(evidence("an iced americano", menu))
    assert found is not None
    assert again is not None
    assert found.engine == f"{engine.dialect}:{engine.adapter}"
    assert found.text == "1 small | mocha + espresso shot; 1 blueberry muffin"
    assert found.overruled == 0
    assert -0.5 < found.logprob < 0.0
    assert again.cached_tokens > again.prompt_tokens - 200, "the menu is read once"
    assert engine.decoder(adapter="nobody").read(said) is None, "it has no such adapter"


def test_a_reading_is_the_same_written_freely_and_under_the_mask(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the mask allows anyway it need not hold (ADR 37); llama.cpp is always asked under it."""
    if engine.dialect != "vllm" or not engine.adapter:
        pytest.skip("only vLLM is asked without the mask first")
    decoder, menu = engine.decoder(adapter=engine.adapter, timeout_s=300.0), sample_menu("harbor-coffee")
    orders = [evidence(said, menu) for said in ORDERS["harbor-coffee"][:3]]
    freely = [decoder.read(order) for order in orders]
    monkeypatch.setattr(reading, "_unforced", lambda *_: None)
    for order, found in zip(orders, freely, strict=True):
        masked = decoder.read(order)
        assert found is not None
        assert masked is not None
        assert (found.text, found.overruled) == (masked.text, masked.overruled)
        assert found.logprob == pytest.approx(masked.logprob, abs=0.05)


class Ticket(BaseModel):
    """What any model, however small, can only fill in as it is."""

    priority: Literal["low", "medium", "high"]
    days: Annotated[int, Field(ge=0, le=30)]
    tags: Annotated[list[Annotated[str, Field(max_length=12, pattern="^[a-z]+$")]], Field(max_length=2)]
    note: Annotated[str, Field(max_length=20)] | None


def test_any_model_of_pydantics_is_answered_under_its_mask(engine: Engine) -> None:
    """Greedy and drawn, scored, and in a grammar that is no JSON; an answer cut short is an error."""
    chat = [{"role": "user", "content": "Sort this ticket: the checkout is down and nobody can pay."}]
    output, decoder = output_type(Ticket), engine.decoder()
    for sampling in (GREEDY, Sampling(temperature=1.5, seed=7)):
        found = answer(output, chat, engine=decoder, sampling=sampling, score=sampling is GREEDY)
        assert output.mask.accepts(found.completed.text)
        assert isinstance(found.value, Ticket)
        assert 0 < found.completed.completion_tokens <= output.mask.longest
        if sampling is GREEDY:
            assert found.probability is not None
            assert {"/priority", "/days"} <= set(found.probability)
            assert all(0 <= probability <= 1 for probability in found.probability.values())
    word = OutputType.by_grammar("word", 'start: "quixotry" | "zebra"', 8, str)
    assert answer(word, chat, engine=decoder).value in ("quixotry", "zebra")
    short = replace(output, mask=replace(output.mask, longest=-6))  # two tokens, with the room for an end
    with pytest.raises(DecodeTruncated, match="length"):
        answer(short, chat, engine=decoder)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_example_is_answered_under_its_mask(engine: Engine, name: str) -> None:
    """What a server's own llguidance makes of each: a grammar that is no JSON, patterns, unions."""
    task = TASKS[name]
    (row,) = next(example for example in EXAMPLES if example.name == name).rows(1)
    text = engine.decoder().complete(task.messages(row.text), task.output.mask).text
    assert task.output.mask.accepts(text)


def test_orders_at_once_keep_their_answers_apart(engine: Engine) -> None:
    """32 for vLLM, which takes all of them at once; llama.cpp has two slots, so with 8 most of them wait."""
    count = 32 if engine.dialect == "vllm" else 8
    decoder = engine.decoder(timeout_s=300.0, whole=True)
    numbers = ("one", "two", "three", "four") * (count // 4)
    orders = [evidence(f"{number} blueberry muffins") for number in numbers]
    with ThreadPoolExecutor(count) as pool:
        drafts = [decoded.draft for decoded in pool.map(decoder.decode, orders)]
    quantities = [next(line.quantity for line in draft.lines if line.kind == "item") for draft in drafts]
    assert quantities == [1, 2, 3, 4] * (count // 4), "answers were mixed up between orders"
    engine.until(lambda: engine.busy() == 0)


def test_a_decode_that_is_called_off_is_stopped_on_the_server(engine: Engine) -> None:
    decoder, called_off, before = engine.decoder(whole=True), threading.Event(), engine.written()
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(decoder.decode, evidence(LONG), called_off)
        engine.until(lambda: engine.busy() > 0 or work.done())
        called_off.set()
        with pytest.raises(DecodeCancelled):
            work.result(30)
    engine.until(lambda: engine.busy() == 0, RARELY_S)
    assert engine.written() - before < WHOLE, "it was decoded to the end"
    assert decoder.decode(evidence(SHORT)).draft.lines


def test_a_decode_past_its_time_is_an_outage_and_stopped_too(engine: Engine) -> None:
    began, before = time.monotonic(), engine.written()
    with pytest.raises(EngineUnavailable, match="did not answer within"):
        engine.decoder(timeout_s=0.3, whole=True).decode(evidence(LONG))
    assert time.monotonic() - began < 20
    engine.until(lambda: engine.busy() == 0, RARELY_S)
    assert engine.written() - before < WHOLE, "it was decoded to the end"
    assert engine.decoder().decode(evidence(SHORT)).draft.lines


def test_a_schema_that_no_mask_can_be_made_of_is_refused_when_a_menu_comes_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grammar.check_menu(CAFE)
    schema = copy.deepcopy(grammar.SCHEMA)
    schema["$defs"]["ItemLine"]["properties"]["note"] = {"type": "string", "pattern": "^[a-z]+$"}
    monkeypatch.setattr(grammar, "SCHEMA", schema)
    with pytest.raises(TypeError, match="No mask for this part"):
        grammar.check_menu(CAFE)


def test_a_feature_that_llguidance_lacks_never_reaches_the_server(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sent all the same it would be lost in silence: llama.cpp answers 200, without a mask."""
    beyond = Mask(BEYOND, "beyond", 100)
    monkeypatch.setattr(client, "build_mask", lambda *of: beyond)
    with pytest.raises(DecodeInvalid, match="does not compile"):
        engine.decoder().decode(evidence(SHORT))


def test_it_is_well_again_after_a_crash_in_the_middle_of_an_order(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine.crash is None:
        pytest.skip("this server is not ours to kill")
    monkeypatch.setattr(several, "AWAY_S", 0.0)
    servers = Servers([engine.decoder(whole=True)], patience_s=60.0)
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(servers.decode, evidence(LONG))
        engine.until(lambda: engine.busy() > 0 or work.done())
        killed = engine.crash()
        with pytest.raises(EngineUnavailable):
            work.result(60)
    with pytest.raises(EngineUnavailable):
        servers.decode(evidence(SHORT))
    monkeypatch.setattr(several, "AWAY_S", START_S)
    assert servers.decode(evidence(SHORT)).draft.lines, "an order waits while the model is loaded"
    assert not living(killed), "its first life left processes behind"
