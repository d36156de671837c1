"""The "Why?" panel of a review over HTTP: asked for when it is opened, escaped, and for staff alone."""

from __future__ import annotations

import httpx
import pytest

from schemas.lifecycle import Event
from schemas.records.orders import NewOrder, Outcome
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.pipeline import kept_evidence
from tests.integration import api_world
from tests.integration.api_world import World
from tests.integration.signing import PASSWORD, cheap

lone_world = api_world.lone_world

SAID = "two lattes, no, three lattes with oat milk and a <b>churro</b>"


@pytest.fixture
def world(lone_world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    cheap(monkeypatch)
    lone_world.parts.staff.add("Ann", PASSWORD)
    return lone_world


def reviewed(world: World, said: str, *, keeps: bool = True, with_noise: str | None = None) -> str:
    """The id of the review of an order that said so; `keeps` its evidence."""
    parts = world.parts
    heard = Transcript(text=said, confidence=1.0, with_noise=with_noise)
    order, _ = parts.orders.create(NewOrder("corner-cafe", 1, "en", transcript=heard))
    _, document = kept_evidence.to_keep(order, parts.menus.of("main").get("corner-cafe"))
    order = parts.orders.commit(order, Outcome(Event.DECODED, evidence=document if keeps else None))
    parts.orders.commit(order, Outcome(Event.DOUBTED, reasons=(ReviewReason.BLOCKING_FINDING,)))
    review = parts.reviews.by_order(order.id)
    assert review is not None
    return str(review.id)


def panel(world: World, review_id: str) -> httpx.Response:
    world.http.post("/sign-in", data={"name": "Ann", "password": PASSWORD, "next": "/review"})
    return world.http.get(f"/review/{review_id}/why", headers={"HX-Request": "true"})


def test_the_panel_is_asked_for_when_it_is_opened(world: World) -> None:
    review_id = reviewed(world, SAID)
    assert world.http.get(f"/review/{review_id}/why").status_code == 303, "for staff alone"
    shown = panel(world, review_id)
    assert shown.status_code == 200
    assert "it was taken back, corrected or said again (3)" in shown.text
    assert "the whole name" in shown.text
    assert "not understood" in shown.text
    assert "3 × latte" in shown.text
    assert "<b>" not in shown.text
    assert "Another release" not in shown.text
    page = world.http.get(f"/review/{review_id}").text
    assert f'hx-get="/review/{review_id}/why" hx-trigger="toggle once"' in page
    assert "the whole name" not in page, "closed, it costs nothing"


def test_what_was_heard_before_noise_was_turned_down_is_shown_beside_it(world: World) -> None:
    review_id = reviewed(world, SAID, with_noise="two <i>lagoons</i>")
    panel(world, review_id)  # signs in
    page = world.http.get(f"/review/{review_id}").text
    assert "without that: “two &lt;i&gt;lagoons&lt;/i&gt;”" in page
    assert "noise" not in world.http.get(f"/review/{reviewed(world, SAID)}").text


def test_an_order_of_another_release_is_said_to_be(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(kept_evidence, "reader_version", lambda: "0123456789ab")
        review_id = reviewed(world, SAID)
    assert "Another release" in panel(world, review_id).text
    assert "Another release" not in panel(world, reviewed(world, SAID, keeps=False)).text


def test_where_nothing_was_heard_there_is_no_panel(world: World) -> None:
    review_id = reviewed(world, " ")
    assert "No speech was heard" in panel(world, review_id).text
    assert 'id="why"' not in world.http.get(f"/review/{review_id}").text
