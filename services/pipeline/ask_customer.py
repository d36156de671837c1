"""Questions to a customer: a reviewer's with its answer, and the request to repeat an unusable order.

A question is kept as the finding `staff_ask` while it is open, its answer as `staff_answered` until the order
is settled. The answer to an open choice settles it like any other; one to a question in a reviewer's words is
for a reviewer to read.

Before a person looks at an unusable order, its customer on a page is asked to repeat it, twice at most.
Silence and nonsense cost nothing to send, and a person's minute does. Only orders that name nothing on the
menu are sent back; any other doubt goes to a person at once, and so does every order from a till, where staff
stand next to the customer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from schemas.cart import CartDraft
from schemas.errors import Conflict
from schemas.lifecycle import Event
from schemas.menu import Menu
from schemas.open_questions import STAFF_ANSWERED, STAFF_ASK
from schemas.order import SAY_IT_AGAIN, OrderError
from schemas.priced_cart import Finding, Severity
from schemas.question import BY_STAFF, SAY_AGAIN, Choice, Question, StaffQuestion
from schemas.records.orders import OrderRecord, Outcome
from schemas.sentences.sentences import sentences
from schemas.shops.access import is_page

TIMES = 2
# Findings of an order that names nothing on the menu.
_NOTHING = frozenset({"nothing_heard", "not_on_menu", "empty_cart", "reading_unsure"})


def ask(order: OrderRecord, given: StaffQuestion, reviewer: str, menu: Menu) -> Outcome:
    """Return the outcome of a reviewer's question, which takes the place of an earlier one.

    Raises:
        Conflict: the cart has no such open choice.
    """
    ready = {question.id: question for question in ready_questions(order, menu)}
    if given.text is not None:
        answers = tuple(Choice(id=str(n), text=text) for n, text in enumerate(given.answers or (), start=1))
        # Numbered, so that an answer to an earlier question is none to this.
        question = Question(id=f"{BY_STAFF}{order.version}", text=given.text, answers=answers)
    elif given.question in ready:
        question = ready[given.question]
    else:
        hint = f"It can be {', '.join(ready)}, or `text` and `answers` of your own."
        raise Conflict("The order can't ask this question", hint=hint)
    asked = Finding(code=STAFF_ASK, severity=Severity.INFO, message=question.text, question=question)
    detail = {"reviewer": reviewer, "question": question.id, "asked": question.text}
    return Outcome(Event.ASKED, findings=(asked, *_others(order)), detail=detail)


def ready_questions(order: OrderRecord, menu: Menu) -> list[Question]:
    """What a reviewer can ask by a button: the cart's open choices, and for the whole order again."""
    found = dict.fromkeys(finding.question for finding in _others(order))
    again = "staff_again_typed" if is_page(order.source) and not order.spoken else "staff_again"
    whole = Question(id=SAY_AGAIN, text=sentences(menu.language)(again), answers=())
    return [*(one for one in found if one is not None and not one.whole), whole]


def with_answer(order: OrderRecord, question: Question, chosen: str, menu: Menu) -> tuple[Finding, ...]:
    """Return the order's findings with the customer's answer, `chosen`, in place of the question."""
    message = sentences(menu.language)("staff_answered", answer=chosen)
    detail = f"We asked: “{question.text}” The customer answered: “{chosen}”"
    answer = Finding(code=STAFF_ANSWERED, severity=Severity.INFO, message=message, detail=detail)
    return (answer, *_others(order))


def answers_so_far(order: OrderRecord) -> tuple[Finding, ...]:
    """Return what the customer has answered to reviewers, the latest first."""
    return tuple(finding for finding in order.findings if finding.code == STAFF_ANSWERED)


def _others(order: OrderRecord) -> list[Finding]:
    return [finding for finding in order.findings if finding.code != STAFF_ASK]


def ask_again(
    order: OrderRecord,
    draft: CartDraft | None,
    findings: Collection[Finding],
    times_asked: Callable[[OrderRecord], int],
    stage: str,
) -> Outcome | None:
    """Return the outcome of an unusable order, or None if a person should look at it."""
    blocking = [finding for finding in findings if finding.blocks]
    has_item = draft is not None and any(line.kind == "item" for line in draft.lines)
    if has_item or not blocking or not is_page(order.source):
        return None
    if any(finding.question or finding.code not in _NOTHING for finding in blocking):
        return None
    if times_asked(order) >= TIMES:
        return None
    say = sentences(order.language)
    error = OrderError(
        code=SAY_IT_AGAIN, message=say("nothing_caught"), hint=say("say_it_again"), stage=stage
    )
    # A recording of silence is of no use.
    return Outcome(Event.BROKE, error=error, detail={"code": error.code}, refused=draft is None)
