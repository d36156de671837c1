"""The cart that the API shows, joined with the menu's names and prices, and what was found of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from schemas.cart import Amount, NoteKind, Portion
from schemas.described import Described
from schemas.question import Question


class Severity(StrEnum):
    """`info` is shown; `blocking` sends the order to a human."""

    INFO = "info"
    BLOCKING = "blocking"


class Finding(Described, frozen=True):
    """One thing to know about a cart. `code` is stable and counted, `message` a sentence for the customer."""

    code: str
    severity: Severity
    message: str
    line: int | None = None
    """Index of the cart line, if it is about one."""
    question: Question | None = None
    """Asks the customer, where that would settle it."""
    detail: str | None = None
    """For reviewers: a probability, an error's own words."""

    @property
    def blocks(self) -> bool:
        return self.severity is Severity.BLOCKING

    @classmethod
    def blocking(
        cls,
        code: str,
        message: str,
        line: int | None = None,
        question: Question | None = None,
        detail: str | None = None,
    ) -> Finding:
        severity = Severity.BLOCKING
        return cls(code=code, severity=severity, message=message, line=line, question=question, detail=detail)

    @classmethod
    def info(cls, code: str, message: str, line: int | None = None) -> Finding:
        return cls(code=code, severity=Severity.INFO, message=message, line=line)


class HeardSpan(Described):
    """The words a line came from; times in seconds, null when the order came as text."""

    text: str
    start_s: float | None = None
    end_s: float | None = None
    utterance: int = Field(default=0, exclude_if=lambda number: number == 0)
    """Number of the utterance that the words begin in, from 0; left out where it is 0."""


class CartNote(HeardSpan):
    """Something that the kitchen must know beyond the lines, in the customer's own words."""

    kind: NoteKind
    line: int | None = None
    """Index of the cart line that it follows; null for the whole order, and for every allergy and diet."""


TillRef = Annotated[
    str | None,
    Field(description="the till's own id, as the menu has it", exclude_if=lambda ref: ref is None),
]


class OptionRef(BaseModel):
    group: str
    id: str


class CartOption(Described):
    group: str
    """Of an option inside an option: the way to it, such as `drink>cola>ice`."""
    id: str
    name: str
    amount: Amount
    count: int
    portion: Portion = Portion.WHOLE
    """`left` or `right`: only on the half that was named first or second."""
    price: int
    """Minor units, per item; amount, portion and count included, with the count of what it is under."""
    ref: TillRef = None
    under: OptionRef | None = Field(default=None, exclude_if=lambda under: under is None)
    """The option that it is under, a few entries before it in `options` unless that comes by default."""


class CartLine(Described):
    """One priced line. A `not_on_menu` line has no sku and costs nothing; it awaits a human."""

    kind: Literal["item", "not_on_menu"]
    heard: HeardSpan
    sku: str | None = None
    name: str
    quantity: int
    size: str | None = None
    size_name: str | None = None
    """The size as the menu names it."""
    options: list[CartOption] = []
    unit_price: int = 0
    line_total: int = 0
    price_is_minimum: bool = False
    """True while a size, a required option or the item is open: both prices are the least that it can come
    to."""
    confidence: float = Field(ge=0, le=1)
    """The mean ASR probability of its words."""
    findings: list[Finding] = []
    allergens: list[str] = []
    """What the menu says that the item contains, and the items among its options."""
    ref: TillRef = None
    size_ref: TillRef = None


class MenuRef(BaseModel):
    id: str
    version: int


class CartTax(Described):
    """One class of tax, rounded once on the sum of its lines; `included` where prices have it already."""

    id: str
    name: str
    rate: str
    """In percent."""
    amount: int
    included: bool
    ref: TillRef = None


class Cart(Described):
    """A priced cart; every amount in minor units of `currency`, from the menu version named."""

    currency: str
    menu: MenuRef
    lines: list[CartLine]
    notes: list[CartNote] = []
    """For the kitchen: allergies first, then diets."""
    total: int
    """What is to be paid: `subtotal` and the taxes that are not included."""
    subtotal: int = Field(default_factory=lambda data: data.get("total", 0))
    """The sum of the lines."""
    taxes: list[CartTax] = []
    """One for each class that the lines have."""
    total_is_minimum: bool = False
    """True while a choice is open: `total` is a lower bound, without what is not on the menu."""
