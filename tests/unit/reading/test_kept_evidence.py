"""Evidence that is kept on its order: the same for every stage, whatever release made it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from schemas.records.menus import MenuVersion
from schemas.records.orders import OrderRecord
from services.pipeline import kept_evidence
from services.pipeline.kept_evidence import evidence_of, kept, reader_version
from services.reading.order import read_order
from tests.stand_ins import CAFE, RIGHT, in_review, speech

MENU = MenuVersion("main", CAFE, 4, "", datetime(2026, 1, 1, tzinfo=UTC))


def order(said: str = "a large latte with oat milk") -> OrderRecord:
    return replace(in_review(RIGHT), transcript=speech(said))


def test_what_is_kept_is_taken_whatever_release_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = kept(read_order("a small latte", CAFE, 4)) | {"reader": "an older one"}

    def unused(*_: object) -> None:
        raise AssertionError("worked out again")

    monkeypatch.setattr(kept_evidence, "read_order", unused)
    assert evidence_of(replace(order(), evidence=stored), MENU).transcript == "a small latte"


@pytest.mark.parametrize("older", [{"retold": True}, {"otherwise": "2 × latte"}])
def test_what_an_older_release_read_in_two_ways_stays_in_doubt(older: dict[str, object]) -> None:
    stored = kept(read_order("a small latte", CAFE, 4))
    assert evidence_of(replace(order(), evidence=stored), MENU).plain
    stored["evidence"] |= older
    assert not evidence_of(replace(order(), evidence=stored), MENU).plain


@pytest.mark.parametrize("stored", [None, {}, {"evidence": {"lines": 7}}, {"evidence": None, "reader": "x"}])
def test_what_can_not_be_read_is_worked_out_anew(stored: dict[str, object] | None) -> None:
    found = evidence_of(replace(order(), evidence=stored), MENU)
    assert found == read_order("a large latte with oat milk", CAFE, 4)


def test_the_reader_has_a_version() -> None:
    assert len(reader_version()) == 12
    assert kept(read_order("a latte", CAFE, 4))["reader"] == reader_version()
