"""The "Why?" panel of a review over HTTP: loaded when opened, escaped, for staff only."""

from __future__ import annotations

import httpx

from schemas.decision import Basis, Decision, ModelAnswer, Trust, UnsurePiece, Verdict
from schemas.lifecycle import Event
from schemas.records.orders import NewOrder, Outcome
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from tests.integration import api_world
from tests.integration.api_world import World
from tests.integration.pages import test_staff_pages
from tests.integration.signing import PASSWORD

lone_world, world = api_world.lone_world, test_staff_pages.world

SAID = "two lattes, no, three lattes with oat milk and a <b>churro</b>"


ANSWER = ModelAnswer(
    text='[{"item":"<b>latte"}]', probability=0.62, unsure=(UnsurePiece(text="<i>oat milk", probability=0.7),)
)
DECISION = Decision(
    verdict=Verdict.NEEDS_REVIEW,
    reasons=(ReviewReason.BLOCKING_FINDING,),
    basis=Basis(transcript_confidence=1.0, unused=("churro",)),
)


def reviewed(
    world: World, said: str, *, answer: ModelAnswer | None = ANSWER, with_noise: str | None = None
) -> str:
    """Create an order with this transcript and decoded answer; return its review's id."""
    parts = world.parts
    heard = Transcript(text=said, confidence=1.0, with_noise=with_noise)
    order, _ = parts.orders.create(NewOrder("corner-cafe", 1, "en", transcript=heard))
    order = parts.orders.commit(order, Outcome(Event.DECODED, answer=answer))
    doubted = Outcome(Event.DOUBTED, reasons=(ReviewReason.BLOCKING_FINDING,), decision=DECISION)
    parts.orders.commit(order, doubted)
    review = parts.reviews.by_order(order.id)
    assert review is not None
    return str(review.id)


def panel(world: World, review_id: str) -> httpx.Response:
    world.http.post("/sign-in", data={"name": "Ann", "password": PASSWORD, "next": "/review"})
    return world.http.get(f"/review/{review_id}/why", headers={"HX-Request": "true"})


def test_the_panel_is_loaded_when_opened(world: World) -> None:
    review_id = reviewed(world, SAID)
    assert world.http.get(f"/review/{review_id}/why").status_code == 303, "for staff alone"
    shown = panel(world, review_id)
    assert shown.status_code == 200
    text = " ".join(shown.text.split())
    assert '“lattes”</span> <span><strong>latte (item)</strong> <span class="fine">the whole name' in text
    assert "<strong>3</strong>" in text
    assert '“churro”</span> <span><span class="fine">no match on the menu' in text
    assert "62% sure of its cart. Least sure of: “&lt;i&gt;oat milk” (70%)." in text
    rows = "decision|a person reviews it;reasons|blocking_finding;transcript|100% sure;unused words|churro"
    for label, shown in (row.split("|") for row in rows.split(";")):
        assert f'<span class="why-said">{label}</span><span>{shown}</span>' in text
    assert "<b>" not in text
    assert "<i>" not in text
    page = world.http.get(f"/review/{review_id}").text
    assert f'hx-get="/review/{review_id}/why" hx-trigger="toggle once"' in page
    assert "the whole name" not in page, "closed, it costs nothing"


def test_the_second_transcript_is_shown_and_without_one_there_is_no_panel(world: World) -> None:
    review_id = reviewed(world, SAID, with_noise="two <i>lagoons</i>")
    panel(world, review_id)  # signs in
    page = world.http.get(f"/review/{review_id}").text
    assert "without it: “two &lt;i&gt;lagoons&lt;/i&gt;”" in page
    assert "noise" not in world.http.get(f"/review/{reviewed(world, SAID)}").text
    silent = world.http.get(f"/review/{reviewed(world, ' ')}").text
    assert ("No speech was heard" in silent, 'id="why"' in silent) == (True, False)


def test_an_order_without_a_model_or_with_one_that_is_not_trusted_says_so(world: World) -> None:
    assert "No model answered." in panel(world, reviewed(world, SAID, answer=None)).text
    overruled = ModelAnswer(text="[]", probability=0.9, trust=Trust.OVERRULED)
    assert "The mask overruled it." in panel(world, reviewed(world, SAID, answer=overruled)).text
