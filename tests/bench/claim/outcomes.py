"""What a row of the bench comes to, judged from its raw answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schemas.cart import CartDraft
from schemas.compare import canonical, canonical_draft
from schemas.errors import DecodeInvalid, DecodeTruncated
from tests.bench.chat import Answer
from tests.bench.claim.judging import Judged, false_of, judge
from tests.bench.claim.spoken import recordings, told
from tests.bench.orders import menu_of

# Of ours, what the claim would call a failed validation: an answer that is no whole cart.
OUR_FAILURES = {DecodeInvalid.code: "outside the mask", DecodeTruncated.code: "truncated"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One order through one pipeline. Seconds are wall time; `first_s` is all but the repairs.

    `failure` is that of the last answer, `first_failure` of the first, as the claim counts; `strict` that of
    the last as strictly as ours. `wrong` counts items of the cart that gold has not, `unknown` those of them
    that no name of the menu is; `astray` is a cart whose items are not those ordered. `passed`: nobody would
    look at it, so if it is not `exact` it is silent.
    """

    id: str
    failure: str | None
    first_failure: str | None
    strict: str | None
    exact: bool
    items: int
    wrong: int
    unknown: int
    astray: bool
    passed: bool
    asked: bool
    fenced: bool
    calls: int
    prompt_tokens: int
    cached_tokens: int
    tokens: int
    repair_tokens: int
    repair_prompt_tokens: int
    repair_s: float
    heard_s: float
    rest_s: float

    @property
    def total_s(self) -> float:
        return self.heard_s + self.rest_s

    @property
    def first_s(self) -> float:
        return self.total_s - self.repair_s

    @property
    def silent(self) -> bool:
        return self.passed and not self.exact


def outcomes(rows: Sequence[dict[str, Any]]) -> list[Outcome]:
    """Each row of a cell."""
    return [outcome(row) for row in rows]


def outcome(row: dict[str, Any]) -> Outcome:
    """One row, ours (it has a decision) or one that was asked in the claim's form."""
    answers = [Answer(**answer) for answer in row["answers"]]
    menu = menu_of(row["menu"])
    if "decision" in row:
        failed = next((OUR_FAILURES[code] for code in row["reasons"] if code in OUR_FAILURES), None)
        draft = CartDraft.model_validate(row["cart"])
        first = last = Judged(failed, "", draft, false=false_of(draft, menu))
        passed = row["decision"] == "accept"
        repairs: list[Answer] = []
    else:
        first, last = judge(answers[0], menu), judge(answers[-1], menu)
        repairs = answers[1:]
        # What the model itself says is not on the menu, and a cart of nothing, would be asked about.
        kinds = {line.kind for line in last.draft.lines}
        passed = last.failure is None and kinds == {"item"}
    gold = _gold(row["id"])
    ordered = {key[:2] for key in canonical(gold)}
    written = [(line.kind, getattr(line, "sku", None)) for line in last.draft.lines]
    return Outcome(
        id=row["id"],
        failure=last.failure,
        first_failure=first.failure,
        strict=last.strict_failure,
        exact=last.failure is None and canonical_draft(last.draft) == canonical(gold),
        items=len(written),
        wrong=sum(item not in ordered for item in written),
        unknown=len(last.unknown),
        astray={*written} != ordered,
        passed=passed,
        asked=bool(answers),
        fenced=first.fenced,
        calls=len(answers),
        prompt_tokens=sum(a.prompt_tokens for a in answers),
        cached_tokens=sum(a.cached_tokens for a in answers),
        tokens=sum(a.completion_tokens for a in answers),
        repair_tokens=sum(a.completion_tokens for a in repairs),
        repair_prompt_tokens=sum(a.prompt_tokens for a in repairs),
        repair_s=sum(a.seconds for a in repairs),
        heard_s=row["heard_s"],
        rest_s=row["rest_s"],
    )


def _gold(order: str) -> list[dict[str, Any]]:
    return next(one.gold for one in (*recordings(), *told()) if one.id == order)
