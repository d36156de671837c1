"""A cart as Guidance's programs are written: a template with holes, each of which is asked for by itself.

The program writes what is fixed and asks the model for one hole after the other, each with what stands before
it. It knows what was filled in, so an item is offered its own sizes and options alone, and no option twice.
What was filled stays. Guidance takes back the last token before a hole, where one token would hold both
sides; over a server's API that can't be done, so a hole goes on to the place where the next choice begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from schemas.cart import MAX_COUNT, MAX_LINES, MAX_OPTIONS, Amount
from schemas.menu import Item
from services.engines.ports import Message
from tests.bench.chat import Answer, Chat
from tests.bench.orders import Order

Body = dict[str, Any]
HOLE_TOKENS = 100  # the longest hole is an option, how much of it, and the beginning of the next line
ITEM, ESCAPE, END = '{"kind":"item","heard":"', '{"kind":"not_on_menu","heard":"', "]}"
OPTIONS = ',"options":[{"group":"'
NUMBER = "[1-9][0-9]{0,2}"
AMOUNTS = [f',"amount":"{amount}"}}' for amount in Amount if amount is not Amount.NORMAL]
COUNTS = [f',"count":{count}}}' for count in range(2, MAX_COUNT + 1)]


class _CutOffError(Exception):
    """A hole was not filled: the answer to it was refused, or ran into its limit."""


@dataclass(slots=True)
class _Program:
    """The text so far, and every answer with the text that it led to."""

    chat: Chat
    order: Order
    sampling: Body
    text: str = '{"lines":['
    lines: int = 0
    answers: list[Answer] = field(default_factory=list)

    def cart(self) -> None:
        """Each line's last hole ends with the beginning of the next line, or with the cart's end."""
        self._fill(_any([ITEM, ESCAPE, END]))
        while not self.text.endswith(END):
            self.lines += 1
            on_menu = self.text.endswith(ITEM)
            self._ask({"stop": ['"']})
            if on_menu:
                self._item()
            else:
                self._write('","quantity":')
                self._fill(NUMBER + re.escape("}") + self._next())

    def _item(self) -> None:
        labels, menu = self.order.labels, self.order.menu
        items = {_quoted(labels.items[item.sku]): item for item in menu.items}
        self._write('","sku":"')
        chosen = self._fill(_any(items) + re.escape('","quantity":'))
        item = items[chosen.removesuffix('","quantity":')]
        ends = [re.escape("}") + self._next(), *([re.escape(OPTIONS)] if item.option_groups else [])]
        sizes = _any(f',"size":"{_quoted(labels.sizes[size])}"' for size in item.size_ids)
        size = f"(?:{sizes})?" if item.size_ids else ""
        self._fill(f"{NUMBER}{size}(?:{'|'.join(ends)})")
        if self.text.endswith(OPTIONS):
            self._options(item)

    def _options(self, item: Item) -> None:
        labels = self.order.labels
        left = [
            f'{_quoted(labels.groups[group])}","id":"{_quoted(name)}"'
            for (group, _), name in labels.options.items()
            if group in item.option_groups
        ]
        another, end = ',{"group":"', re.escape(END) + self._next()
        most = min(len(left), MAX_OPTIONS)
        for number in range(1, most + 1):
            goes_on = f"(?:{re.escape(another)}|{end})" if number < most else end
            filled = self._fill(_any(left) + _any(["}", *AMOUNTS, *COUNTS]) + goes_on)
            if not filled.endswith(another):
                return
            left.remove(next(option for option in left if filled.startswith(option)))

    def _next(self) -> str:
        return _any([f",{ITEM}", f",{ESCAPE}", END] if self.lines < MAX_LINES else [END])

    def _write(self, fixed: str) -> None:
        self.text += fixed

    def _fill(self, pattern: str) -> str:
        return self._ask({"structured_outputs": {"regex": pattern}})

    def _ask(self, hole: Body) -> str:
        so_far: Message = {"role": "assistant", "content": self.text}
        going_on = {"continue_final_message": True, "add_generation_prompt": False}
        body = {"max_tokens": HOLE_TOKENS, **self.sampling, **hole, **going_on}
        answer = self.chat.ask([*self.order.messages(), so_far], **body)
        self.text += answer.text
        self.answers.append(replace(answer, text=answer.text if answer.finish == "refused" else self.text))
        if answer.finish != "stop":
            raise _CutOffError
        return answer.text


def _quoted(name: str) -> str:
    """As JSON writes it between its quotes."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


def _any(texts: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, texts))})"


def templated(chat: Chat, order: Order, sampling: Body) -> list[Answer]:
    """The answer to each hole, with the text up to there; the last holds the cart, or why there is none."""
    program = _Program(chat, order, sampling)
    with suppress(_CutOffError):
        program.cart()
    return program.answers
