"""Orders that the learned reader reads too: what both come to is what the order becomes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.cart import CartDraft, Severity
from schemas.compare import canonical_draft
from schemas.decision import Agreement, Readings, Verdict
from schemas.errors import EngineUnavailable
from schemas.evidence import Evidence
from schemas.lifecycle import State
from schemas.menu import Menu
from schemas.records.orders import NewOrder, OrderRecord
from schemas.transcript import Transcript
from services.checks.questions import open_question
from services.engines.ports import Reading
from services.engines.reader.short_form import Names
from services.pipeline import kept_evidence
from services.reading.order import read_order
from tests.stand_ins import AWAY, CAFE, RIGHT, SAID, ScriptedDecoder, Works

NAMES = Names(CAFE)
SAME = NAMES.write(RIGHT.model_dump(mode="json")["lines"])
OTHER = SAME.replace("1 ", "2 ", 1)
# Nothing here that a rule knows, so the reader's cart is the only one.
STRANGE = "the usual for the tall fellow by the window"


def reading(text: str, probability: float) -> Reading:
    lines = tuple(NAMES.read(text))
    return Reading(lines, text, math.log(probability), 0, "stand-in:orders", 20, 9, 18, 0.1)


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Works:
    made = Works(database, BlobFolder(tmp_path / "blobs"))
    made.two_readings = True
    return made


def test_a_settled_order_that_both_read_alike_completes(world: Works) -> None:
    world.decoder = ScriptedDecoder([AWAY], reading=reading(SAME, 0.5))
    order = world.until_settled(world.typed())
    assert order.state is State.COMPLETED
    assert order.draft is not None
    assert canonical_draft(order.draft) == canonical_draft(RIGHT)
    assert order.readings == Readings(agreement=Agreement.AGREED, answer=SAME, probability=0.5)
    assert order.decision is not None
    assert order.decision.verdict is Verdict.ACCEPTED
    assert order.decision.basis.cart_probability == 0.5
    assert world.types(order.id) == ["received", "transcribed", "decoded", "accepted"]


def test_a_spoken_order_goes_from_the_ears_to_the_reader(world: Works) -> None:
    """The worker that asks it works the evidence out where nobody has, and keeps it for the checks."""
    world.decoder = ScriptedDecoder([AWAY], reading=reading(SAME, 0.5))
    order_id = world.spoken()
    assert world.runner().run(order_id, "transcribe") is State.TRANSCRIBED
    assert world.bell.rung == [(order_id, State.TRANSCRIBED, 0.0)]
    assert world.runner().run(order_id, "decode") is State.COMPLETED
    assert world.types(order_id) == ["received", "transcribed", "decoded", "accepted"]
    order = world.orders.get(order_id)
    assert order.evidence is not None


def test_words_that_nobody_has_read_yet_are_read_once(world: Works, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def once(text: str, menu: Menu, version: int) -> Evidence:
        read.append(text)
        return read_order(text, menu, version)

    monkeypatch.setattr(kept_evidence, "read_order", once)
    world.decoder = ScriptedDecoder([AWAY], reading=reading(SAME, 0.5))
    new = NewOrder(CAFE.id, 1, "en", transcript=Transcript(text=SAID, confidence=1.0))
    order_id = world.orders.create(new)[0].id
    assert world.runner().run(order_id, "decode") is State.COMPLETED
    assert read == [SAID]
    kept = world.orders.get(order_id)
    assert kept.evidence is not None
    assert kept.evidence["reader"] == kept_evidence.reader_version()
    assert {"decode", "validate"} == set(kept.timings)


def test_a_settled_order_that_they_read_differently_goes_to_a_human_with_the_likelier(world: Works) -> None:
    world.decoder = ScriptedDecoder([AWAY], reading=reading(OTHER, 0.995))
    order = world.until_settled(world.typed())
    assert order.state is State.IN_REVIEW
    assert "readers_differ" in {finding.code for finding in order.findings}
    assert order.draft is not None
    assert order.draft.lines[0].quantity == 2


@pytest.mark.parametrize(("probability", "state"), [(0.995, State.COMPLETED), (0.9, State.IN_REVIEW)])
def test_what_no_rule_can_read_completes_where_the_reader_is_sure(
    world: Works, probability: float, state: State
) -> None:
    world.decoder = ScriptedDecoder([AWAY], reading=reading(SAME, probability))
    order = world.until_settled(world.typed(STRANGE))
    assert order.state is state
    assert order.draft is not None
    assert canonical_draft(order.draft) == canonical_draft(RIGHT)
    assert ("reading_unsure" in {f.code for f in order.findings}) is (state is State.IN_REVIEW)
    assert all(line.heard in STRANGE for line in order.draft.lines)


def test_a_wish_off_the_menu_goes_to_a_human_however_sure_the_reader_is(world: Works) -> None:
    world.decoder = ScriptedDecoder([AWAY], reading=reading("1 ?", 1.0))
    order = world.until_settled(world.typed(STRANGE))
    assert order.state is State.IN_REVIEW
    assert "not_on_menu" in {finding.code for finding in order.findings}


def test_who_reads_may_be_another_server_and_is_told_which_cart_to_expect(world: Works) -> None:
    world.readers = readers = ScriptedDecoder([AWAY], reading=reading(SAME, 0.5))
    assert world.until_settled(world.typed()).state is State.COMPLETED
    assert world.until_settled(world.typed(STRANGE)).state is State.IN_REVIEW
    plain, strange = readers.expected
    assert isinstance(plain, CartDraft)
    assert canonical_draft(plain) == canonical_draft(RIGHT)
    assert strange is None


@dataclass
class Asked(ScriptedDecoder):
    """Remembers of which orders a smaller model's word was enough."""

    settled: list[bool] = field(default_factory=list)

    def read(
        self, _evidence: Evidence, *_asked: object, settled: bool = False, **_how: object
    ) -> Reading | None:
        self.settled.append(settled)
        return self.reading


def test_a_smaller_model_may_check_in_the_readers_place_only_where_the_rules_have_no_doubt(
    world: Works,
) -> None:
    world.readers = readers = Asked([AWAY], reading=reading(SAME, 0.5))
    world.until_settled(world.typed())
    world.until_settled(world.typed(STRANGE))
    assert readers.settled == [True, False]


def test_a_cart_that_the_rules_alone_came_to_is_its_customers(world: Works) -> None:
    """The server has not loaded the learned reader, or there is none for the model."""
    world.decoder = ScriptedDecoder([RIGHT])
    order = world.until_settled(world.typed())
    assert order.state is State.IN_REVIEW
    assert blocking(order) == ["read_once"]
    asked = open_question(order.findings, order.reasons)
    assert asked is not None
    assert (asked.id, [choice.id for choice in asked.answers]) == ("order/right", ["yes", "no"])


def test_so_is_one_that_another_decoder_wrote_while_the_first_was_away(world: Works) -> None:
    world.decoder, world.fallback = Away([AWAY]), ScriptedDecoder([RIGHT])
    order = world.until_settled(world.typed())
    assert (order.state, blocking(order)) == (State.IN_REVIEW, ["read_once"])


def test_that_it_was_read_once_is_no_doubt_beside_another(world: Works) -> None:
    world.decoder = ScriptedDecoder([RIGHT])
    order = world.until_settled(world.typed(STRANGE))
    assert order.state is State.IN_REVIEW
    assert blocking(order)
    assert "read_once" not in blocking(order)


def test_a_customer_who_sees_every_cart_is_not_asked_of_it_too(world: Works) -> None:
    world.decoder = ScriptedDecoder([RIGHT])
    transcript = Transcript(text=SAID, confidence=1.0)
    order, _ = world.orders.create(NewOrder(CAFE.id, 1, "en", transcript=transcript, confirm=True))
    shown = world.until_settled(order.id)
    assert (shown.state, blocking(shown)) == (State.PROPOSED, [])


def blocking(order: OrderRecord) -> list[str]:
    return [finding.code for finding in order.findings if finding.severity is Severity.BLOCKING]


class Away(ScriptedDecoder):
    def read(self, *_asked: object, **_how: object) -> Reading | None:
        raise EngineUnavailable("The decode server did not answer")


def test_a_server_that_is_away_settles_nothing(world: Works) -> None:
    transcript = Transcript(text=SAID, confidence=1.0)
    order, _ = world.orders.create(NewOrder(CAFE.id, 1, "en", transcript=transcript))
    world.decoder = Away([AWAY])
    assert world.until_settled(order.id).state is State.IN_REVIEW


def test_words_that_nobody_has_read_outlast_an_outage(world: Works) -> None:
    order, _ = world.orders.create(
        NewOrder(CAFE.id, 1, "en", transcript=Transcript(text=SAID, confidence=1.0))
    )
    world.decoder = Away([AWAY])
    assert world.runner().run(order.id, "decode") is State.TRANSCRIBED
    assert world.types(order.id) == ["received", "transcribed", "retry"]
    world.decoder = ScriptedDecoder([AWAY], reading=reading(SAME, 0.5))
    assert world.until_settled(order.id).state is State.COMPLETED
