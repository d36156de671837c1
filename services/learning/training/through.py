"""A part's orders through the whole pipeline, with answers that an adapter gave elsewhere.

    python -m services.learning.training.through PART ANSWERS.jsonl [--out COUNTS.jsonl]

Everything is the pipeline's own but the decode server: its reader gives the answers of `answer.py`. One that
is not a cart of the menu counts as overruled, so it is a doubt, and wrong. A simulated customer answers
questions (`services.learning.evaluation.answering`). Prints figures, never a row.
"""

from __future__ import annotations

import argparse
import json
import math
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from schemas.decision import Policy
from schemas.menu import Menu
from services.decoding.menu_names import Unreadable
from services.decoding.ports import CartRequest, Reading
from services.decoding.wire import WireCart, read_cart
from services.learning.evaluation.answering import COUNTED, outcomes
from services.learning.evaluation.run import predict
from services.learning.evaluation.statistics import wilson
from services.learning.training.orders import Row, Shop, shops
from services.learning.training.score import answers_in, cart_of
from services.pipeline.ports import Tools


@dataclass(frozen=True, slots=True)
class Recorded:
    """`CartDecoder` that gives a recorded answer, whatever it is asked."""

    answer: dict[str, Any]
    shop: Shop

    def decode(
        self,
        asked: CartRequest,  # noqa: ARG002 - of the port, as are the others
        called_off: threading.Event | None = None,  # noqa: ARG002
        *,
        in_gaps: bool = False,  # noqa: ARG002
    ) -> Reading:
        """See `CartDecoder.decode`."""
        text, overruled = self.answer["text"], self.answer.get("overruled", 0)
        try:
            cart = read_cart(text, self.shop.names)
        except Unreadable:
            cart, overruled = WireCart([]), 1
        return Reading(
            lines=tuple(cart.lines),
            notes=cart.notes,
            text=text,
            logprob=self.answer["logprob"],
            overruled=overruled,
            engine="recorded",
            prompt_tokens=0,
            completion_tokens=0,
            cached_tokens=0,
            seconds=0.0,
        )

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """Do nothing."""


def predicted(shop: Shop, row: Row, answer: dict[str, Any]) -> dict[str, Any]:
    """The prediction row of one order."""
    decoder = Recorded(answer, shop)
    tools = Tools(
        transcriber=_unasked,
        decoder=lambda: decoder,
        menu=_unasked,
        recording=_unasked,
        decode_audio=_unasked,
        second_transcriber=lambda: None,
        agreement=lambda *_: None,
        policy=Policy.within(asr_threshold=0.72, max_total=math.inf),  # prices of these menus mean nothing
    )
    gold = {"id": row.id, "utterance": row.utterance, "cart": {"lines": row.lines}}
    return predict(gold, shop.menu, tools, None)


def _unasked(*_asked: Any) -> NoReturn:
    raise NotImplementedError("Orders of text need no such thing")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="through")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--out", type=Path, help="add the counts to this file too, as a line of JSON")
    args = parser.parse_args(argv)
    found = answers_in(args.answers)
    counts: Counter[str] = Counter()
    total = 0
    for shop in shops(args.part):
        for row in shop.rows:
            if answer := found.get((args.part, row.id)):
                total += 1
                counts.update(outcomes(predicted(shop, row, answer), cart_of(row.lines)))
    for name in COUNTED:
        low, high = wilson(counts[name], total)
        shares = f"{counts[name] / total:.1%} ({low:.1%} to {high:.1%})"
        print(f"{args.part}, {name}: {counts[name]} of {total}, {shares}")
    if args.out:
        about = {"part": args.part, "answers": args.answers.name, "orders": total}
        with args.out.open("a") as lines:
            lines.write(json.dumps(about | {name: counts[name] for name in COUNTED}) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
