"""A part's orders through the whole pipeline, with answers that an adapter gave elsewhere.

    python -m services.training.through PART ANSWERS.jsonl [--reader all|open|off] [--out COUNTS.jsonl]

Everything is the pipeline's own but the decode server: its reader gives the answers of `answer.py`. One that
the mask does not allow counts as overruled, so it is a doubt, and wrong. A question is answered by a customer
who knows the cart that is meant: what gives that cart, or "neither". Prints figures, never a row.
"""

from __future__ import annotations

import argparse
import json
import math
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from schemas.cart import CartDraft
from schemas.compare import canonical, canonical_draft
from schemas.evidence import Evidence
from schemas.question import Question
from services.checks.questions import answered
from services.checks.two_carts import NOTHING, RIGHT, WHICH
from services.engines.ports import Decoded, Reading
from services.engines.reader.short_form import Unreadable
from services.engines.reader.short_mask import short_mask
from services.evaluation.run import predict
from services.evaluation.statistics import wilson
from services.pipeline.ports import Tools
from services.training.orders import Row, Shop, shops
from services.training.score import Cart, answers_in, cart_of


@dataclass(slots=True)
class Recorded:
    """`CartDecoder` whose reader says what was recorded; asked to decode it gives up, which is a review."""

    answer: dict[str, Any]
    shop: Shop
    accepts: Callable[[str], bool]

    def read(self, _evidence: Evidence, _called_off: threading.Event | None = None) -> Reading | None:
        """The recorded answer, whoever asks."""
        text, allowed = self.answer["text"], self.accepts(self.answer["text"])
        try:
            lines = tuple(self.shop.names.read(text)) if allowed else ()
        except Unreadable:
            lines, allowed = (), False
        return Reading(lines, text, self.answer["logprob"], int(not allowed), "recorded", 0, 0, 0, 0.0)

    def decode(
        self, evidence: Evidence, called_off: threading.Event | None = None, *, whole: bool = False
    ) -> Decoded:
        raise NotImplementedError

    def warm(self, evidence: Evidence, called_off: threading.Event | None = None) -> None:
        """Nothing."""


def predicted(
    shop: Shop, row: Row, decoder: Recorded, reader: Literal["all", "open", "off"]
) -> dict[str, Any]:
    """The prediction row of one order."""
    tools = Tools(
        transcriber=_unasked,
        decoder=lambda: decoder,
        fallback_decoder=lambda: None,
        menu=_unasked,
        recording=_unasked,
        decode_audio=_unasked,
        second_transcriber=lambda: None,
        agreement=lambda _one, _other: None,
        asr_threshold=0.72,
        field_threshold=0.94,
        max_order_total=math.inf,  # type: ignore[arg-type]  # prices of these menus mean nothing
        reader=reader,
    )
    gold = {"id": row.id, "utterance": row.said, "cart": {"lines": row.lines}}
    return predict(gold, shop.menu, tools, None)


# In the order in which they are told.
COUNTED = (
    "exact",
    "exact after the answers",
    "to a human",
    "of them for what only a human can do",
    "of them needless",
    "asked one question",
    "of them settled by the answer",
    "of them which of two",
    "of them is this right",
    "of them was nothing ordered",
    "of them without a right answer",
    "wrong, unseen",
    "wrong, unseen, if nobody ever said that none is right",
)


def became(made: dict[str, Any], meant: Cart) -> list[str]:
    """What to count of one prediction row, with an honest answer to its question.

    "exact" is the proposal, asked or not. "what only a human can do" is an order for something off the menu,
    or for nothing, that was read rightly. "wrong, unseen" are a wrong cart that was accepted, and one that an
    answer about one field has settled while another was wrong.
    """
    exact = canonical(made["cart"]["lines"]) == meant
    question = Question.model_validate(made["question"]) if made["question"] else None
    final = _answered(made, question, meant) if question is not None else None
    told = ["exact"] * exact
    if question is not None:
        told += ["asked one question", *KINDS.get(question.id, ())]
        told.append("of them without a right answer" if final is None else "of them settled by the answer")
    nodded = ["wrong, unseen, if nobody ever said that none is right"]
    if made["decision"] != "review" or final is not None:
        right = exact if final is None else final == meant
        return [*told, *(["exact after the answers"] if right else ["wrong, unseen", *nodded])]
    codes = {found["code"] for found in made["findings"] if found["severity"] == "blocking"}
    told += ["to a human", *["exact after the answers"] * exact, *nodded * (question is not None)]
    if exact:
        only_human = codes & {"not_on_menu", "empty_cart"}
        told.append("of them for what only a human can do" if only_human else "of them needless")
    return told


KINDS = {
    WHICH: ("of them which of two",),
    RIGHT: ("of them is this right",),
    NOTHING: ("of them was nothing ordered",),
}


def _answered(made: dict[str, Any], question: Question, meant: Cart) -> Cart | None:
    """The cart after the answer of a customer who wants `meant`; None where they say that none is right."""
    draft = CartDraft.model_validate(made["cart"])
    if question.whole:
        # Of an empty cart the question is whether nothing was ordered.
        shown = [draft]
        if question.id == WHICH:
            shown.append(CartDraft.model_validate(made["second_cart"]))
        return meant if meant in map(canonical_draft, shown) else None
    # Where nobody said a size, the cart that is meant has none either, and any answer will do.
    given = [canonical_draft(answered(draft, question, choice.id)) for choice in question.answers]
    return meant if meant in (canonical_draft(draft), *given) else given[0]


def _unasked(*_asked: Any) -> NoReturn:
    raise NotImplementedError("Orders of text need no such thing")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="through")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--reader", choices=("all", "open", "off"), default="all")
    parser.add_argument("--out", type=Path, help="add the counts to this file too, as a line of JSON")
    args = parser.parse_args(argv)
    found = answers_in(args.answers)
    counts: Counter[str] = Counter()
    total = 0
    for shop in shops(args.part):
        mask = short_mask(shop.menu, shop.names)
        for row in shop.rows:
            answer = found.get((args.part, row.id))
            if answer is None:
                continue
            made = predicted(shop, row, Recorded(answer, shop, mask.accepts), args.reader)
            total += 1
            counts.update(became(made, cart_of(row.lines)))
    for name in COUNTED:
        low, high = wilson(counts[name], total)
        shares = f"{counts[name] / total:.1%} ({low:.1%} to {high:.1%})"
        print(f"{args.part}, {args.reader}, {name}: {counts[name]} of {total}, {shares}")
    if args.out:
        told = {"part": args.part, "reader": args.reader, "answers": args.answers.name, "orders": total}
        with args.out.open("a") as lines:
            lines.write(json.dumps(told | {name: counts[name] for name in COUNTED}) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
