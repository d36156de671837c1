"""Orders whose words leave one cart, with and without a decoder (`SAYCART_SKIP_SETTLED`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.blobs import Blobs
from infra.database import Database
from schemas.compare import canonical_draft
from schemas.lifecycle import State
from tests.stand_ins import AWAY, RIGHT, ScriptedDecoder, Works


@pytest.fixture
def world(database: Database, tmp_path: Path) -> Works:
    return Works(database, Blobs(tmp_path / "blobs"))


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


def test_what_is_open_is_decoded_all_the_same(world: Works) -> None:
    world.skip_settled = True
    world.until_settled(world.typed("a latte or a muffin"))
    assert len(world.decoder.asked) == 1
