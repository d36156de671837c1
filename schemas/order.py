"""An order as the API shows it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from schemas.cart import CartDraft
from schemas.decision import Decision
from schemas.described import Described, Moment
from schemas.priced_cart import Cart, Finding, MenuRef
from schemas.question import Question
from schemas.review import Review
from schemas.transcript import Transcript

MAX_TRANSCRIPT_CHARS = 2000
MAX_UTTERANCES = 10
"""Of one order: more is a conversation, which takes a person."""
CONFIRM = "whether the customer says yes to the cart (`confirm_order`) before the order is completed"


class TextOrder(
    Described,
    extra="forbid",
    json_schema_extra={
        "examples": [{"transcript": "a large latte", "menu": "harbor-coffee", "confirm": True}]
    },
):
    """`POST /v1/orders` as JSON, for callers that have speech recognition of their own."""

    transcript: str = Field(min_length=1, max_length=MAX_TRANSCRIPT_CHARS)
    menu: str
    metadata: dict[str, Any] | None = None
    """The caller's own note, given back as it came: at most 8000 bytes of JSON without spaces."""
    confirm: bool = Field(default=False, strict=True, description=CONFIRM)


class TextUtterance(
    BaseModel, extra="forbid", json_schema_extra={"examples": [{"transcript": "and a blueberry muffin"}]}
):
    """`POST /v1/orders/{id}/utterances` as JSON: what the customer adds to the order."""

    transcript: str = Field(min_length=1, max_length=MAX_TRANSCRIPT_CHARS)


class Utterance(Described, frozen=True):
    """What the customer spoke or typed at one time; an order's cart is decoded from all of its utterances."""

    kind: Literal["audio", "text"]
    at: Moment
    transcript: Transcript | None = None
    """Null until it is transcribed; without text where nothing was caught."""


class Confirmation(Described, extra="forbid", json_schema_extra={"examples": [{"version": 4, "total": 550}]}):
    """`POST /v1/orders/{id}/confirm`: the customer's yes."""

    version: int = Field(ge=1, strict=True)
    """Of the order as the customer saw it."""
    cart: CartDraft | None = None
    """The whole cart, where the customer changed it; else it is as proposed."""
    total: int | None = Field(default=None, strict=True)
    """What the customer agreed to pay; a 409 if it is another sum."""


SAY_IT_AGAIN = "say_it_again"
"""Code of an order from a page of which nothing could be used, so that its customer is asked once more."""


class OrderError(BaseModel):
    """Why an order ended in `error`: a stable code, a sentence, and what to do."""

    code: str
    message: str
    hint: str
    stage: str | None = None


class Timings(BaseModel, populate_by_name=True):
    """Seconds of work a stage took, waiting in the queue left out; null where it did not run."""

    transcribe: float | None = None
    decode: float | None = None
    validate_: float | None = Field(default=None, alias="validate", serialization_alias="validate")


class DecodedBy(Described, frozen=True):
    """How a cart was decoded; what is in it may change. Empty and 0 until one is decoded."""

    decoder: str = ""
    """Server and model."""
    grammar: str = ""
    """The version of the mask."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompt's, those from the server's cache."""


class Order(Described):
    """One order. `status` is for clients; `stage` is the next step while it is not settled."""

    id: str
    status: str
    stage: str | None
    version: int
    menu: MenuRef
    source: str
    """`audio` or `transcript`."""
    transcript: Transcript | None = None
    """Of all utterances, a sentence each."""
    utterances: list[Utterance] = []
    """In order; a line's `heard` names one by number."""
    cart: Cart | None = None
    changed: list[str] = []
    """What the newest utterance made of the cart that was shown before, in words."""
    findings: list[Finding] = []
    question: Question | None = None
    """What the customer is asked now, and settles without a reviewer; see `/answer`."""
    review: Review | None = None
    error: OrderError | None = None
    timings: Timings = Timings()
    engine: DecodedBy = DecodedBy()
    decision: Decision | None = None
    """What became of the order when it was validated, and what that rests on."""
    metadata: dict[str, Any] | None = None
    created_at: Moment
    updated_at: Moment
    taken_at: Moment | None = None
    """When the shop took it, after which it can't be cancelled."""
    erased_at: Moment | None = None
    """When its words were erased: all that is left is what it cost and why."""


class OrderPage(BaseModel):
    """Newest first; `next_cursor` is null on the last page."""

    orders: list[Order]
    next_cursor: str | None = None


class OrderEvent(BaseModel):
    """One entry of an order's history; `seq` is the server-sent event id. `stage` is what the order waits
    for afterwards."""

    seq: int
    at: Moment
    type: str
    status: str
    stage: str | None = None
    detail: dict[str, Any] = {}
