"""Stand-ins for engines, test menus, and a pipeline with real stores. Not used outside tests."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import select

from infra.blobs.store import Blobs
from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.decision import Policy
from schemas.errors import EngineUnavailable
from schemas.lifecycle import State
from schemas.menu import Menu
from schemas.order import DecodedBy
from schemas.records.orders import NewOrder, OrderRecord
from schemas.review import ReviewReason
from schemas.shops.audit import Actor
from schemas.transcript import Transcript, Word
from services.decoding.ports import CartRequest, DecodedCart
from services.pipeline.flow import FLOW
from services.pipeline.runner import Runner
from services.pipeline.stages import Tools
from services.recordings import delete_unused, local_recording
from services.storage.base.changes import writing
from services.storage.base.tables import OrderRow
from services.storage.orders.claims import claimed
from services.storage.orders.store import OrderStore
from services.storage.orders.turns import claimable
from services.storage.reviews.store import ReviewStore
from services.storage.shops.menus import MenuStore
from services.transcription.ports import Recording

TESTER = Actor("operator:tests")
SAMPLE_MENUS = Path(__file__).resolve().parents[1] / "infra" / "samples" / "menus"


def sample_menu(name: str) -> Menu:
    """One of the shipped sample menus."""
    return Menu.parse(json.loads((SAMPLE_MENUS / f"{name}.json").read_text(encoding="utf-8")))


def options(*names: str, price: int = 50) -> list[dict[str, Any]]:
    """Options with these names, whose ids are derived from them."""
    return [{"id": name.replace(" ", "-"), "name": name, "price": price} for name in names]


# Small, with every trap: a size word, a drink and a colour inside other names, a required choice.
CAFE = Menu.parse(
    {
        "id": "trap-cafe",
        "name": "Trap Cafe",
        "currency": "USD",
        "sizes": [
            {"id": "S", "name": "small"},
            {"id": "M", "name": "medium"},
            {"id": "L", "name": "large"},
            {"id": "P10", "name": "ten piece"},
        ],
        "option_groups": [
            {"id": "milk", "name": "milk", "options": [
                {"id": "oat", "name": "oat milk", "aliases": ["oat"], "price": 60},
                {"id": "soy", "name": "soy milk", "aliases": ["soy"], "price": 50},
                {"id": "skim", "name": "skim milk", "price": 0},
            ]},
            {"id": "roast", "name": "roast", "options": options("medium roast", "dark roast", price=0)},
            {"id": "syrup", "name": "syrup", "choose": "many", "options": [
                *options("mocha syrup"), {"id": "vanilla", "name": "vanilla", "price": 50},
            ]},
            {"id": "shots", "name": "shots", "choose": "many", "options": [
                {"id": "shot", "name": "espresso shot", "aliases": ["shot"], "price": 90},
            ]},
            {"id": "extras", "name": "extras", "choose": "many", "options": options(
                "cream", "sugar", "foam", "ice", price=0)},
            {"id": "sauce", "name": "sauce", "required": True, "options": [
                *options("ranch", "barbecue", price=0),
                {"id": "gold", "name": "gold leaf", "price": 900, "available": False},
            ]},
        ],
        "items": [
            {"sku": "latte", "name": "latte", "prices": {"S": 400, "M": 450, "L": 500},
             "option_groups": ["milk", "syrup", "shots", "extras"], "max_quantity": 12},
            {"sku": "iced-latte", "name": "iced latte", "prices": {"S": 420, "L": 520},
             "option_groups": ["milk", "extras"]},
            {"sku": "mocha", "name": "mocha", "price": 480, "option_groups": ["milk"]},
            {"sku": "iced-mocha", "name": "iced mocha", "price": 490, "option_groups": ["milk"]},
            {"sku": "americano", "name": "americano", "prices": {"S": 300, "M": 350},
             "default_size": "M", "option_groups": ["extras"]},
            {"sku": "coffee", "name": "coffee", "prices": {"S": 275, "M": 275},
             "option_groups": ["roast", "extras", "syrup"]},
            {"sku": "muffin", "name": "blueberry muffin", "price": 350},
            {"sku": "kids-meal", "name": "kids meal", "price": 700},
            {"sku": "nuggets", "name": "nuggets", "prices": {"P10": 650}, "option_groups": ["sauce"]},
            {"sku": "truffle", "name": "truffle tart", "price": 900, "available": False},
        ],
    }
)  # fmt: skip


# Hostile names: quotes, backslashes, control characters, line separators, our own grammar's syntax.
NASTY = Menu.parse(
    {
        "id": "nasty",
        "name": "Nasty",
        "currency": "USD",
        "sizes": [{"id": "S", "name": 'small "s" \\ 🍵'}, {"id": "L", "name": "großé"}],
        "option_groups": [
            {"id": "g", "name": "%grp {x} | y", "choose": "many", "options": [
                {"id": f"o{i}", "name": f"opt {i} \\n \" / 'q' {i * 'z'}"} for i in range(12)]},
            {"id": "h", "name": "tab\\tname\\nline", "options": [
                {"id": "a", "name": "é" * 80}, {"id": "b", "name": "#{HEARD}"}]},
        ],
        "items": [
            {"sku": "a", "name": 'the "best" \\ latte',
             "prices": {"S": 1, "L": 2}, "option_groups": ["g", "h"]},
            {"sku": "b", "name": "🍔" * 39 + " x", "price": 3, "option_groups": ["h"]},
            {"sku": "c", "name": "null\\x00 \\x1b char", "price": 3},
            {"sku": "d", "name": "%llguidance {}", "price": 3},
            {"sku": "e", "name": "k" * 80, "prices": {"L": 9}},
        ],
    }
)  # fmt: skip


def speech(text: str, probability: float = 0.95, confidence: float = 0.9) -> Transcript:
    """A transcript with words 0.4 s apart."""
    words = tuple(
        Word(text=word, start_s=round(i * 0.4, 3), end_s=round(i * 0.4 + 0.3, 3), probability=probability)
        for i, word in enumerate(text.split())
    )
    return Transcript(text=text, confidence=confidence, words=words, source="stand-in")


def claim_order(
    orders: OrderStore, order_id: str, state: State, *, owner: str, lease_s: float
) -> OrderRecord | None:
    """Claim this order out of turn; None unless it is in `state`, due, and not held."""
    with writing(orders._database) as (session, now):
        query = select(OrderRow.id).where(OrderRow.id == order_id, OrderRow.state == state.value)
        found = session.scalar(query.where(*claimable(now)).with_for_update())
        return None if found is None else claimed(session, now, found, owner, timedelta(seconds=lease_s))


def in_review(draft: CartDraft) -> OrderRecord:
    """An order for version 4 of `CAFE`, in review with this draft."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return OrderRecord(
        id="ord_1",
        shop="main",
        state=State.IN_REVIEW,
        version=5,
        menu_id="trap-cafe",
        menu_version=4,
        language="en",
        transcript=speech("a latte please"),
        draft=draft,
        created_at=now,
        updated_at=now,
    )


def unheard(file: Path) -> Any:
    """`Tools.decode_audio` that must not be called."""
    raise AssertionError(f"{file} is only a stand-in for a recording")


def recorded(file: Path) -> Recording:
    """A recording for stand-ins."""
    return Recording(file, unheard)


@dataclass
class ScriptedTranscriber:
    """`Transcriber` that returns or raises the entries of its script in turn, and repeats the last."""

    script: list[Exception | Transcript]
    heard: list[tuple[Path, str]] = field(default_factory=list)
    fitted: Transcript | None = None
    denoised: Transcript | None = None
    quiet: str = ""

    def load(self) -> None: ...

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        self.heard.append((recording.file, language))
        if isinstance(step := self.script.pop(0) if len(self.script) > 1 else self.script[0], Exception):
            raise step
        return step

    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        return self.fitted

    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        return self.denoised

    def quiet_words(self, recording: Recording, language: str) -> str:
        return self.quiet


@dataclass
class ScriptedDecoder:
    """`CartDecoder` that returns or raises the entries of its script in turn, and repeats the last.
    `meanwhile` runs first, to simulate events during a decode."""

    script: list[Exception | CartDraft | DecodedCart]
    asked: list[CartRequest] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None
    name: str = "stand-in"

    def decode(self, asked: CartRequest, called_off: threading.Event | None = None) -> DecodedCart:
        self.asked.append(asked)
        self.meanwhile()
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, DecodedCart) else read_as(step, self.name)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None: ...


@dataclass(frozen=True)
class GatedDecoder:
    """`CartDecoder` in a child process: logs to `folder`/asked and answers once `folder`/hold is removed."""

    folder: Path

    def decode(self, asked: CartRequest, *_asked: object, **_how: object) -> DecodedCart:
        with (self.folder / "asked").open("a") as log:
            log.write(f"{asked.transcript}\n")
        while (self.folder / "hold").exists():
            time.sleep(0.02)
        return read_as(RIGHT)

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None: ...


def read_as(draft: CartDraft, engine: str = "stand-in") -> DecodedCart:
    """This cart, decoded with probability 1."""
    lines = tuple(line.model_dump(mode="json", exclude={"heard"}) for line in draft.lines)
    by = DecodedBy(decoder=engine, grammar="mask-1", prompt_tokens=7, completion_tokens=9)
    return DecodedCart(lines, "", 0.0, 0, by)


@dataclass
class Bell:
    """`Doorbell` that records rings; `up = False` when the broker is unreachable."""

    rung: list[tuple[str, State, float]] = field(default_factory=list)
    up: bool = True

    def ring(self, order_id: str, state: State, delay_s: float = 0.0) -> bool:
        self.rung.append((order_id, state, delay_s))
        return self.up

    def held(self, fresh_s: float) -> Counter[State] | None:
        return Counter() if self.up else None


SAID = "a large latte with oat milk and a blueberry muffin"
RIGHT = CartDraft.model_validate({"lines": [
    {"kind": "item", "heard": "a large latte with oat milk", "sku": "latte", "quantity": 1,
     "size": "L", "options": [{"group": "milk", "id": "oat"}]},
    {"kind": "item", "heard": "a blueberry muffin", "sku": "muffin", "quantity": 1},
]})  # fmt: skip
AWAY = EngineUnavailable("The decode server did not answer")
ATTEMPTS = 3
AGREEMENT = 0.96  # share of correct orders where two recognizers agree


@dataclass
class Pipeline:
    """Real stores and blob folder, scripted engines."""

    database: Database
    blobs: Blobs
    transcriber: ScriptedTranscriber = field(default_factory=lambda: ScriptedTranscriber([speech(SAID)]))
    decoder: ScriptedDecoder = field(default_factory=lambda: ScriptedDecoder([RIGHT]))
    second: ScriptedTranscriber | None = None
    bell: Bell = field(default_factory=Bell)

    def __post_init__(self) -> None:
        self.database = self.database.everywhere()
        self.orders, self.reviews = OrderStore(self.database, "main"), ReviewStore(self.database, "main")
        self.menus = MenuStore(self.database, "main")
        self.menus.put(CAFE, by=TESTER)

    def runner(self, owner: str = "worker-1") -> Runner:
        tools = Tools(
            transcriber=lambda: self.transcriber,
            decoder=lambda: self.decoder,
            second_transcriber=lambda: self.second,
            agreement=lambda *_: AGREEMENT,
            menu=lambda shop, menu_id, version: self.menus.of(shop).get(menu_id, version),
            recording=partial(local_recording, self.blobs),
            drop_recording=partial(delete_unused, self.blobs),
            decode_audio=unheard,
            policy=Policy(asr_threshold=0.72, max_total=50_000),
        )
        return Runner(self.orders, self.bell.ring, tools, owner, attempts=ATTEMPTS, lease_s=60)

    def cancel(self, order_id: str) -> None:
        """End an order and delete its recording, as the API does."""
        key = self.orders.get(order_id).audio_key
        self.orders.cancel(order_id)
        if key is not None:
            delete_unused(self.blobs, key)

    def stored(self, sound: bytes = b"RIFF") -> str:
        """Store a recording; return its key."""
        with self.blobs.open() as writer:
            writer.write(sound)
            return writer.commit()

    def spoken(self) -> str:
        """Create an order from a recording; return its id."""
        new = NewOrder("trap-cafe", 1, "en", audio_key=self.stored(), audio_format="wav")
        return self.orders.create(new)[0].id

    def typed(self, text: str = SAID, confidence: float = 1.0) -> str:
        """Create an order from text; return its id."""
        transcript = Transcript(text=text, confidence=confidence)
        return self.orders.create(NewOrder("trap-cafe", 1, "en", transcript=transcript))[0].id

    def until_settled(self, order_id: str) -> OrderRecord:
        """Run all stages as workers would, retries without delay."""
        runner = self.runner()
        for _ in range(4 * (ATTEMPTS + 1)):
            order = self.orders.get(order_id)
            if order.state not in FLOW:
                return order
            self.make_due(order_id)
            runner.run(order_id, FLOW[order.state].name)
        raise AssertionError(f"not settled: {self.orders.get(order_id).state}")

    def make_due(self, order_id: str) -> None:
        """End the delay before a retry."""
        self._set(order_id, "next_attempt_at = NULL")

    def drop_lease(self, order_id: str) -> None:
        """Let the lease of a worker that died run out."""
        self._set(order_id, "lease_until = NULL")

    def _set(self, order_id: str, change: str) -> None:
        with self.database.write() as session:
            session.connection().exec_driver_sql(f"UPDATE orders SET {change} WHERE id = '{order_id}'")

    def types(self, order_id: str) -> list[str]:
        return [event.type for event in self.orders.events(order_id)]

    def reasons(self, order_id: str) -> set[ReviewReason]:
        review, order = self.reviews.by_order(order_id), self.orders.get(order_id)
        assert review is not None
        assert (review.status, order.state) == ("open", State.IN_REVIEW)
        assert set(review.reasons) == set(order.reasons)
        return set(review.reasons)
