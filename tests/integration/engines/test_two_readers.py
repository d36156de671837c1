"""Orders that the learned reader reads too: what both come to is what the order becomes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.cart import CartDraft, Severity
from schemas.compare import canonical_draft
from schemas.decision import Agreement, Readings, Verdict
from schemas.evidence import Evidence
from schemas.lifecycle import State
from schemas.menu import Menu
from schemas.records.orders import NewOrder, OrderRecord
from schemas.transcript import Transcript
from services.decoding.short_form import Names
from services.engines.ports import Reading
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
    return made


def test_a_settled_order_that_both_read_alike_completes(world: Works) -> None:
    world.decoder = ScriptedDecoder([reading(SAME, 0.5)])
    order = world.until_settled(world.typed())
    assert order.state is State.COMPLETED
    assert order.draft is not None
    assert canonical_draft(order.draft) == canonical_draft(RIGHT)
    assert order.readings == Readings(agreement=Agreement.AGREED, answer=SAME, probability=0.5)
    assert order.decision is not None
    assert order.decision.verdict is Verdict.ACCEPTED
    assert order.decision.basis.cart_probability == 0.5
    assert world.types(order.id) == ["received", "transcribed", "decoded", "accepted"]


def test_the_readers_notes_come_with_the_order(world: Works) -> None:
    said = SAID + " to go"
    world.decoder = ScriptedDecoder([replace(reading(SAME, 0.999), notes=(("other", "to go"),))])
    order = world.until_settled(world.typed(said))
    assert order.draft is not None
    assert order.cart is not None
    assert [(note.kind, note.heard) for note in order.draft.notes] == [("other", "to go")]
    assert [(note.kind, note.text, note.line) for note in order.cart.notes] == [("other", "to go", 1)]


def test_an_allergy_that_the_reader_noted_waits_for_a_person(world: Works) -> None:
    noted = replace(reading(SAME, 0.999), notes=(("allergy", "walnuts burn my tongue"),))
    world.decoder = ScriptedDecoder([noted])
    order = world.until_settled(world.typed(SAID + " walnuts burn my tongue"))
    assert order.state is State.IN_REVIEW
    assert order.findings[0].code == "allergy_said"
    (entry,) = world.reviews.queue(9).entries
    assert "walnuts burn my tongue" in str(entry.allergy)


def test_a_spoken_order_goes_from_the_ears_to_the_reader(world: Works) -> None:
    """The worker that asks it works the evidence out where nobody has, and keeps it for the checks."""
    world.decoder = ScriptedDecoder([reading(SAME, 0.5)])
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
    world.decoder = ScriptedDecoder([reading(SAME, 0.5)])
    new = NewOrder(CAFE.id, 1, "en", transcript=Transcript(text=SAID, confidence=1.0))
    order_id = world.orders.create(new)[0].id
    assert world.runner().run(order_id, "decode") is State.COMPLETED
    assert read == [SAID]
    kept = world.orders.get(order_id)
    assert kept.evidence is not None
    assert kept.evidence["reader"] == kept_evidence.reader_version()
    assert {"decode", "validate"} == set(kept.timings)


def test_a_settled_order_that_they_read_differently_goes_to_a_human_with_the_likelier(world: Works) -> None:
    world.decoder = ScriptedDecoder([reading(OTHER, 0.995)])
    order = world.until_settled(world.typed())
    assert order.state is State.IN_REVIEW
    assert "readers_differ" in {finding.code for finding in order.findings}
    assert order.draft is not None
    assert order.draft.lines[0].quantity == 2


@pytest.mark.parametrize(("probability", "state"), [(0.995, State.COMPLETED), (0.9, State.IN_REVIEW)])
def test_what_no_rule_can_read_completes_where_the_reader_is_sure(
    world: Works, probability: float, state: State
) -> None:
    world.decoder = ScriptedDecoder([reading(SAME, probability)])
    order = world.until_settled(world.typed(STRANGE))
    assert order.state is state
    assert order.draft is not None
    assert canonical_draft(order.draft) == canonical_draft(RIGHT)
    assert ("reading_unsure" in {f.code for f in order.findings}) is (state is State.IN_REVIEW)
    assert all(line.heard in STRANGE for line in order.draft.lines)


def test_a_wish_off_the_menu_goes_to_a_human_however_sure_the_reader_is(world: Works) -> None:
    world.decoder = ScriptedDecoder([reading("1 ?", 1.0)])
    order = world.until_settled(world.typed(STRANGE))
    assert order.state is State.IN_REVIEW
    assert "not_on_menu" in {finding.code for finding in order.findings}


def test_the_model_is_told_which_cart_to_expect(world: Works) -> None:
    world.decoder = readers = ScriptedDecoder([reading(SAME, 0.5)])
    assert world.until_settled(world.typed()).state is State.COMPLETED
    assert world.until_settled(world.typed(STRANGE)).state is State.IN_REVIEW
    plain, strange = readers.expected
    assert isinstance(plain, CartDraft)
    assert canonical_draft(plain) == canonical_draft(RIGHT)
    assert strange is None


def test_a_smaller_model_may_check_in_the_readers_place_only_where_the_rules_have_no_doubt(
    world: Works,
) -> None:
    world.decoder = readers = ScriptedDecoder([reading(SAME, 0.5)])
    world.until_settled(world.typed())
    world.until_settled(world.typed(STRANGE))
    assert readers.settled == [True, False]


def test_an_untrained_model_accepts_only_what_the_rules_do_not_doubt(world: Works) -> None:
    """The server has not loaded the trained adapter, or there is none for the model."""
    world.decoder = ScriptedDecoder([replace(reading(SAME, 1.0), trained=False)])
    agreed = world.until_settled(world.typed())
    assert (agreed.state, agreed.readings and agreed.readings.agreement) == (
        State.COMPLETED, Agreement.AGREED,
    )  # fmt: skip
    strange = world.until_settled(world.typed(STRANGE))
    assert (strange.state, strange.readings and strange.readings.agreement) == (
        State.IN_REVIEW, Agreement.UNSURE,
    )  # fmt: skip
    assert "reading_unsure" in blocking(strange)


def test_where_an_untrained_model_differs_the_rules_cart_is_proposed(world: Works) -> None:
    world.decoder = ScriptedDecoder([replace(reading(OTHER, 1.0), trained=False)])
    order = world.until_settled(world.typed())
    assert "readers_differ" in blocking(order)
    assert order.draft is not None
    assert canonical_draft(order.draft) == canonical_draft(RIGHT)


def test_another_decoder_is_held_to_the_rules_too_while_the_first_is_away(world: Works) -> None:
    world.decoder, world.fallback = ScriptedDecoder([AWAY]), ScriptedDecoder([reading(OTHER, 0.5)])
    order = world.until_settled(world.typed())
    assert "readers_differ" in blocking(order)
    assert "decoded_elsewhere" in world.types(order.id)


def blocking(order: OrderRecord) -> list[str]:
    return [finding.code for finding in order.findings if finding.severity is Severity.BLOCKING]


def test_a_server_that_is_away_settles_nothing(world: Works) -> None:
    transcript = Transcript(text=SAID, confidence=1.0)
    order, _ = world.orders.create(NewOrder(CAFE.id, 1, "en", transcript=transcript))
    world.decoder = ScriptedDecoder([AWAY])
    assert world.until_settled(order.id).state is State.IN_REVIEW


def test_words_that_nobody_has_read_outlast_an_outage(world: Works) -> None:
    order, _ = world.orders.create(
        NewOrder(CAFE.id, 1, "en", transcript=Transcript(text=SAID, confidence=1.0))
    )
    world.decoder = ScriptedDecoder([AWAY])
    assert world.runner().run(order.id, "decode") is State.TRANSCRIBED
    assert world.types(order.id) == ["received", "transcribed", "retry"]
    world.decoder = ScriptedDecoder([reading(SAME, 0.5)])
    assert world.until_settled(order.id).state is State.COMPLETED
