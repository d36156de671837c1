"""What a reviewer asks the customer, and what becomes of the answer.

Both are kept as findings: a question as `staff_ask` while it is open, its answer as `staff_answered` until
the order is settled. The answer to an open choice settles it like any other; one to a question in a
reviewer's words is for a reviewer to read.
"""

from __future__ import annotations

from schemas.errors import Conflict
from schemas.lifecycle import Event
from schemas.menu import Menu
from schemas.open_questions import STAFF_ANSWERED, STAFF_ASK
from schemas.priced_cart import Finding, Severity
from schemas.question import BY_STAFF, SAY_AGAIN, Choice, Question, StaffQuestion
from schemas.records.orders import OrderRecord, Outcome
from schemas.sentences.sentences import sentences


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
    again = Question(id=SAY_AGAIN, text=sentences(menu.language)("staff_again"), answers=())
    return [*(one for one in found if one is not None and not one.whole), again]


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
