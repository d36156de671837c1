"""Orders in review as the pipeline leaves them: a shipped recording, its words, a draft, findings, a price.

Only the answers of recognizer and decoder are invented; checks, prices and storage are real.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from schemas.cart import CartDraft
from schemas.decision import Basis, Decision, ModelAnswer, Verdict
from schemas.lifecycle import Event
from schemas.priced_cart import Cart, Finding
from schemas.records.orders import NewOrder, OrderRecord, Outcome
from schemas.records.reviews import ReviewRecord
from schemas.review import ReviewReason
from schemas.transcript import Transcript, Word
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.validation.alignment import unused_words
from services.validation.facts import check_facts
from services.validation.price import price_cart
from tests.browser.conftest import watched
from tests.integration.api_world import World
from tests.processes.running_stack import RECORDINGS
from tests.stand_ins import TESTER, sample_menu

PASSWORD = "correct horse battery"
SAID = "Hi, um, can I get a large latte with oat milk, please?"
LATTE = {
    "kind": "item", "heard": "a large latte with oat milk,", "sku": "latte", "quantity": 1, "size": "L",
    "options": [{"group": "milk", "id": "oat"}],
}  # fmt: skip
SURE = ModelAnswer(probability=1.0)


@contextmanager
def signed_in(browser: Browser, base_url: str, name: str, **options: Any) -> Iterator[Page]:
    """Open a watched tab with the queue, signed in as `name`."""
    with watched(browser, base_url, **options) as page:
        page.goto("/review")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/review")
        yield page


def take(page: Page, review_id: str) -> None:
    """Open an order and take it by its shortcut."""
    page.goto(f"/review/{review_id}")
    with page.expect_navigation():  # a key pressed before the scripts run is lost
        page.keyboard.press("c")
    expect(page.locator("#settle")).to_be_visible()


def decoded(
    world: World,
    order: OrderRecord,
    lines: Sequence[dict[str, Any]],
    notes: Sequence[dict[str, str]] = (),
    more: Sequence[Finding] = (),
) -> tuple[OrderRecord, Cart, tuple[Finding, ...]]:
    """Return the order after this draft was decoded, with its cart and findings."""
    menu = world.parts.menus.get(order.menu_id, order.menu_version)
    draft = CartDraft.model_validate({"lines": lines, "notes": notes})
    findings = (*check_facts(draft, menu.menu), *more)
    cart = price_cart(draft, menu.menu, menu.version, order.transcript, findings)
    order = world.parts.orders.commit(order, Outcome(Event.DECODED, draft=draft, answer=SURE))
    return order, cart, findings


@dataclass
class Desk:
    """A café with staff and orders for review."""

    world: World
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.menu, _ = self.world.parts.menus.put(sample_menu("harbor-coffee"), by=TESTER)

    def order(
        self,
        said: str = SAID,
        lines: list[dict[str, Any]] | None = None,
        *,
        sure: dict[str, float] | None = None,
        recording: str | None = "hc-01",
        reasons: tuple[ReviewReason, ...] = (ReviewReason.LOW_ASR_CONFIDENCE,),
        menu: Any = None,
        second: str | None = None,
        more: tuple[Finding, ...] = (),
        notes: Sequence[dict[str, str]] = (),
    ) -> ReviewRecord:
        """Add an order in review. `sure` sets the probability of single words, else 0.97; `second` is the
        second recognizer's transcript, `more` are further findings."""
        parts, menu = self.world.parts, menu or self.menu
        heard = self._heard(said, sure or {}, spoken=recording is not None)
        heard = heard.model_copy(update={"second": second})
        key = self._stored(RECORDINGS / f"{recording}.flac") if recording else None
        new = NewOrder(
            menu.menu.id, menu.version, "en",
            audio_key=key, audio_format="flac" if key else None, transcript=None if key else heard,
        )  # fmt: skip
        order, _ = parts.orders.create(new)
        if key:
            order = parts.orders.commit(order, Outcome(Event.TRANSCRIBED, transcript=heard))
        lines = [LATTE] if lines is None else lines
        order, cart, findings = decoded(self.world, order, lines, notes, more)
        retrieval = retrieve(said, names_of(menu.menu))
        basis = Basis(transcript_confidence=1.0, unused=unused_words(said, retrieval, cart))
        decision = Decision(verdict=Verdict.NEEDS_REVIEW, reasons=reasons, basis=basis)
        doubted = Outcome(Event.DOUBTED, cart=cart, findings=findings, reasons=reasons, decision=decision)
        parts.orders.commit(order, doubted)
        review = parts.reviews.by_order(order.id)
        assert review is not None
        return review

    @contextmanager
    def staff(self, browser: Browser, name: str = "Ann", **options: Any) -> Iterator[Page]:
        """Open a watched tab, signed in as `name`."""
        if name not in self.names:
            self.world.parts.staff.add(name, PASSWORD)
            self.names.append(name)
        with signed_in(browser, self.world.url, name, **options) as page:
            yield page

    def clear(self) -> None:
        """Cancel all orders in review."""
        for entry in self.world.parts.reviews.queue(500).entries:
            self.world.parts.orders.cancel(entry.review.order_id)

    def acts(self, review: ReviewRecord) -> list[tuple[str, str]]:
        return [(act.actor, act.action) for act in self.world.parts.reviews.acts(review.id)]

    def _stored(self, file: Path) -> str:
        with self.world.parts.blobs.open() as writer:
            writer.write(file.read_bytes())
            return str(writer.commit())

    def _heard(self, said: str, sure: dict[str, float], *, spoken: bool) -> Transcript:
        if not spoken:
            return Transcript(text=said, confidence=1.0)
        words = tuple(
            Word(
                text=text,
                start_s=round(i * 0.27, 2),
                end_s=round(i * 0.27 + 0.25, 2),
                probability=sure.get(text.strip(".,?"), 0.97),
            )
            for i, text in enumerate(said.split())
        )
        return Transcript(text=said, confidence=0.61, words=words, source="stand-in", duration_s=3.4)
