"""Convert stored records to the models that the API returns."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from schemas.compare import corrections
from schemas.described import Moment
from schemas.lifecycle import STAGES, STATUS, TERMINAL
from schemas.menu import MenuHeader, Note
from schemas.open_questions import question_of
from schemas.order import DecodedBy, Order, OrderEvent, Timings, Utterance
from schemas.priced_cart import Cart, MenuRef
from schemas.records.orders import OrderRecord, StoredEvent
from schemas.records.reviews import ReviewRecord
from schemas.review import Review


class ReviewPage(BaseModel):
    """Oldest first; `next_cursor` is null on the last page."""

    reviews: list[Review]
    next_cursor: str | None = None


class ReviewDetail(Review):
    """A review with its order, and the cart that the machine proposed (null when it made none)."""

    order: Order
    proposed: Cart | None = None


class MenuNote(BaseModel):
    """What an import changed: `pointer` is a JSON pointer into the document as it was sent."""

    pointer: str
    detail: str


class MenuSummary(BaseModel):
    """One menu version without its items. `digest` is of the whole document."""

    id: str
    name: str
    version: int
    digest: str
    currency: str
    language: str
    items: int
    created_at: Moment
    notes: list[MenuNote] = Field(default=[], description="duplicate names that the import dropped")


class MenuList(BaseModel):
    """The newest version of each menu, by id."""

    menus: list[MenuSummary]


def order(record: OrderRecord, review: ReviewRecord | None = None) -> Order:
    return Order(
        id=record.id,
        status=STATUS[record.state],
        stage=STAGES.get(record.state),
        version=record.version,
        menu=MenuRef(id=record.menu_id, version=record.menu_version),
        source="audio" if record.spoken else "transcript",
        transcript=record.transcript,
        utterances=[Utterance.model_validate(one, from_attributes=True) for one in record.all_utterances],
        cart=record.cart,
        changed=[] if record.state in TERMINAL else list(corrections(record.before, record.cart)),
        findings=list(record.findings),
        question=question_of(record),
        review=review_of(review) if review else None,
        error=record.error,
        timings=Timings.model_validate(record.timings),
        engine=record.engine or DecodedBy(),
        decision=record.decision,
        metadata=record.metadata,
        created_at=record.created_at,
        updated_at=record.updated_at,
        taken_at=record.taken_at,
        erased_at=record.erased_at,
    )


def order_etag(record: OrderRecord, review: ReviewRecord | None = None) -> str:
    """Return a weak ETag: the bytes may differ between reads of a version. A review has its own version."""
    return f'W/"{record.version}-{review.version}"' if review else f'W/"{record.version}"'


def review_of(record: ReviewRecord) -> Review:
    return Review.model_validate(record, from_attributes=True)


def review_detail(record: ReviewRecord, reviewed: OrderRecord) -> ReviewDetail:
    return ReviewDetail(**dict(review_of(record)), order=order(reviewed, record), proposed=record.proposed)


def event(stored: StoredEvent, *, for_customer: bool = False) -> OrderEvent:
    """Return the event; `for_customer` leaves out its internal details."""
    return OrderEvent(
        seq=stored.seq,
        at=stored.at,
        type=stored.type,
        status=STATUS[stored.state],
        stage=STAGES.get(stored.state),
        detail={} if for_customer else stored.detail,
    )


def menu_summary(header: MenuHeader, notes: Sequence[Note] = ()) -> MenuSummary:
    summary = MenuSummary.model_validate(header, from_attributes=True)
    summary.notes = [MenuNote(pointer=pointer, detail=detail) for pointer, detail in notes]
    return summary
