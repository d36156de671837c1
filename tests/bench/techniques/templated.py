"""A cart as Guidance's programs are written: a template with holes, each of which is asked for by itself.

The program writes what is fixed and asks the model for one hole after the other, each with what stands before
it: a choice among names, words up to the next quote, digits. It knows what was chosen, so it offers an item
its own sizes and options alone, and no option twice. What was filled stays. Guidance takes back the last
token before a hole, where one token would hold both sides; over a server's API that can't be done, so holes
begin and end at marks.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from schemas.cart import MAX_COUNT, MAX_LINES, MAX_OPTIONS, Amount
from schemas.menu import Item
from services.engines.ports import Message
from tests.bench.chat import Answer, Chat
from tests.bench.orders import Order

Body = dict[str, Any]
HOLE_TOKENS = 60  # the longest hole is a name, or the words heard; a hundred characters of these are fewer
ITEM, ESCAPE, END = '{"kind":"item","heard":"', '{"kind":"not_on_menu","heard":"', "]}"


class _CutOffError(Exception):
    """A hole was not filled: the answer to it was refused, or ran into its limit."""


@dataclass(slots=True)
class _Program:
    """The text so far, and every answer with the text that it led to."""

    chat: Chat
    order: Order
    sampling: Body
    text: str = '{"lines":['
    answers: list[Answer] = field(default_factory=list)

    def cart(self) -> None:
        for number in range(MAX_LINES):
            comma = "," if number else ""
            chosen = self._choose(comma + ITEM, comma + ESCAPE, END)
            if chosen == END:
                return
            self._line(on_menu=chosen.endswith(ITEM))
        self._write(END)

    def _line(self, *, on_menu: bool) -> None:
        self._fill({"stop": ['"']})
        items = {_quoted(name)[1:]: sku for sku, name in self.order.labels.items.items()}
        item: Item | None = None
        if on_menu:
            self._write('","sku":"')
            sku = items[self._choose(*items)]
            item = next(item for item in self.order.menu.items if item.sku == sku)
            self._write(',"quantity":')
        else:
            self._write('","quantity":')
        self._fill({"structured_outputs": {"regex": "[1-9][0-9]{0,2}"}})
        if item is None:
            self._write("}")
            return
        sizes = [f',"size":{_quoted(self.order.labels.sizes[size])}' for size in item.size_ids]
        after = ["}", *([',"options":['] if item.option_groups else [])]
        chosen = self._choose(*sizes, *after)
        if chosen in sizes:
            chosen = self._choose(*after)
        if chosen != "}":
            self._options(item)

    def _options(self, item: Item) -> None:
        labels = self.order.labels
        left = [
            f'{{"group":{_quoted(labels.groups[group])},"id":{_quoted(name)}'
            for (group, _), name in labels.options.items()
            if group in item.option_groups
        ]
        amounts = [f',"amount":"{amount}"}}' for amount in Amount if amount is not Amount.NORMAL]
        counts = [f',"count":{count}}}' for count in range(2, MAX_COUNT + 1)]
        comma = ""
        for _ in range(MAX_OPTIONS):
            end = [END] if comma else []
            chosen = self._choose(*(comma + option for option in left), *end)
            if chosen == END:
                return
            left.remove(chosen.removeprefix(comma))
            self._choose("}", *amounts, *counts)
            comma = ","
        self._write(END)

    def _write(self, fixed: str) -> None:
        self.text += fixed
        self.answers[-1] = replace(self.answers[-1], text=self.text)

    def _choose(self, *choices: str) -> str:
        if len(choices) == 1:
            self._write(choices[0])
            return choices[0]
        return self._fill({"structured_outputs": {"choice": list(choices)}})

    def _fill(self, hole: Body) -> str:
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
    return json.dumps(name, ensure_ascii=False)


def templated(chat: Chat, order: Order, sampling: Body) -> list[Answer]:
    """The answer to each hole, with the text up to there; the last holds the cart, or why there is none."""
    program = _Program(chat, order, sampling)
    with suppress(_CutOffError):
        program.cart()
    return program.answers
