"""The repair loop of many order pipelines: parse, and on an error show it to the model and ask again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from services.engines.ports import Message
from tests.bench.chat import Answer, Chat

RETRIES = 2
REPAIR = "That is not a valid cart: {problem}. Answer with the corrected JSON cart and nothing else."

Problem = Callable[[Answer], str | None]
"""What is wrong with an answer, in the words that the model is shown; None where nothing is."""


def repaired(chat: Chat, history: list[Message], body: dict[str, Any], problem: Problem) -> list[Answer]:
    """Every answer to `history`: the first, and up to `RETRIES` more while there is a problem. The last
    one counts, good or not. Raises as `Chat.ask`."""
    answers: list[Answer] = []
    for _ in range(1 + RETRIES):
        answers.append(chat.ask(history, **body))
        wrong = problem(answers[-1])
        if wrong is None:
            break
        history = [
            *history,
            {"role": "assistant", "content": answers[-1].text},
            {"role": "user", "content": REPAIR.format(problem=wrong)},
        ]
    return answers
