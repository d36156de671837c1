"""Orders whose words leave one cart: written without a decoder, and one in so many decoded all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.cart import CartDraft
from schemas.compare import canonical_draft
from schemas.errors import DecodeInvalid
from schemas.lifecycle import State
from schemas.review import ReviewReason
from services.pipeline.stages import decode, read
from tests.stand_ins import AWAY, RIGHT, ScriptedDecoder, Works, in_review

OTHER = CartDraft.model_validate(
    {"lines": [{"kind": "item", "heard": "a large latte", "sku": "latte", "quantity": 1, "size": "L"}]}
)


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Works:
    return Works(database, BlobFolder(tmp_path / "blobs"))


@pytest.mark.parametrize("skip", [True, False])
def test_where_the_words_leave_one_cart_no_decoder_need_be_there(world: Works, skip: bool) -> None:
    world.skip_settled, world.decoder = skip, ScriptedDecoder([AWAY])
    order = world.until_settled(world.typed())
    assert order.state is (State.COMPLETED if skip else State.IN_REVIEW)
    assert bool(world.decoder.asked) is not skip
    if skip:
        assert order.draft is not None
        assert canonical_draft(order.draft) == canonical_draft(RIGHT)
        words = ["a large latte with oat milk", "a blueberry muffin"]
        assert [line.heard for line in order.draft.lines] == words
        assert order.engine == {"decoder": "none: settled"}
        assert world.types(order.id) == ["received", "transcribed", "settled", "accepted"]
        assert world.bell.rung == [], "nobody else was needed"


def test_what_is_open_is_decoded_all_the_same(world: Works) -> None:
    world.skip_settled = True
    world.until_settled(world.typed("a latte or a muffin"))
    assert len(world.decoder.asked) == 1


def test_a_settled_order_that_is_checked_and_comes_out_the_same_completes(world: Works) -> None:
    world.skip_settled, world.check_settled = True, 1
    order = world.until_settled(world.typed())
    assert order.state is State.COMPLETED
    assert world.decoder.wholly == [True], "of what is forced nothing else would be asked"
    assert (order.engine["decoder"], order.engine["settled_check"]) == ("stand-in", "same")
    assert world.orders.code_counts()["settled_check", "same"] == 1


def test_one_that_a_part_with_other_settings_sent_to_be_decoded_needs_no_model(world: Works) -> None:
    """An API with `SAYCART_READER=all` stops no order at the rules; its worker may have `open` or `off`."""
    world.skip_settled, world.decoder = True, ScriptedDecoder([AWAY])
    tools = replace(world.runner().tools, reader="open")
    order = world.orders.get(world.typed())
    outcome = decode(replace(order, evidence=read(order, tools).evidence), tools)
    assert canonical_draft(outcome.draft) == canonical_draft(RIGHT)
    assert outcome.engine["decoder"] == "none: settled"
    assert world.decoder.asked == []


def test_a_model_that_comes_to_another_cart_than_the_words_is_looked_at(world: Works) -> None:
    world.skip_settled, world.check_settled, world.decoder = True, 1, ScriptedDecoder([OTHER])
    order = world.until_settled(world.typed())
    assert world.reasons(order.id) == {ReviewReason.BLOCKING_FINDING}
    assert [f.code for f in order.findings if f.severity == "blocking"] == ["settled_differs"]
    assert order.draft is not None
    assert canonical_draft(order.draft) == canonical_draft(RIGHT), "the words' cart is proposed"
    assert world.orders.code_counts()["settled_check", "differs"] == 1


@pytest.mark.parametrize("error", [AWAY, DecodeInvalid("free text")])
def test_a_server_that_fails_the_check_fails_no_order(world: Works, error: Exception) -> None:
    world.skip_settled, world.check_settled, world.decoder = True, 1, ScriptedDecoder([error])
    order = world.until_settled(world.typed())
    assert order.state is State.COMPLETED
    assert world.orders.code_counts()["settled_check", error.code] == 1


def test_one_in_so_many_is_checked_and_always_the_same_ones(world: Works) -> None:
    world.skip_settled, world.check_settled = True, 10
    tools = world.runner().tools
    order = replace(in_review(RIGHT), transcript=world.orders.get(world.typed()).transcript, menu_version=1)
    order = replace(order, evidence=read(order, tools).evidence)  # its words are read once

    def checked() -> list[int]:
        drawn = (replace(order, id=f"ord_{n}") for n in range(1000))
        return [n for n, one in enumerate(drawn) if read(one, tools).event == "read"]

    first = checked()
    assert checked() == first
    assert 60 < len(first) < 140
