"""The line of an audit entry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from schemas.shops.audit import Actor, Entry, canonical_json, stamp

ENTRY = Entry(
    shop_id="main",
    seq=1,
    at="2026-11-23T18:00:00.000000Z",
    actor="staff:Zoë",
    address=None,
    request_id="a1b2c3d4",
    action="price.changed",
    object_type="menu",
    object_id="cafe",
    before='{"/items/tea/price":300}',
    after='{"/items/tea/price":1}',
)
# Written by hand from the form's description, so that a change of the form is seen: it breaks every old log.
FORM = (
    '{"action":"price.changed","actor":"staff:Zoë","after":"{\\"/items/tea/price\\":1}",'
    '"at":"2026-11-23T18:00:00.000000Z","before":"{\\"/items/tea/price\\":300}","object_id":"cafe",'
    '"object_type":"menu","request_id":"a1b2c3d4","seq":1,"shop_id":"main"}'
)


def test_the_form_is_the_documented_one() -> None:
    assert ENTRY.line == FORM


def test_times_are_as_long_and_in_utc() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    assert stamp(datetime(2026, 11, 23, 23, 30, tzinfo=east)) == "2026-11-23T18:00:00.000000Z"
    assert len(stamp(datetime(2026, 1, 1, 0, 0, 0, 7, tzinfo=UTC))) == len(ENTRY.at)


@pytest.mark.parametrize("name", ["password", "password_hash", "secret", "token", "transcript"])
def test_no_entry_holds_a_secret(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        canonical_json({"name": "ann", name: "x"})
    # A size may be called so: ids are not ours to choose.
    assert canonical_json({"/items/tea": {"prices": {name: 300}}}) is not None


@pytest.mark.parametrize("name", ["", "x" * 201, "key:a\nb", "staff:\u202eann"])
def test_an_actor_can_be_shown_in_a_line(name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        Actor(name)
