"""A part's orders through the whole pipeline, with answers that an adapter gave elsewhere.

    python -m services.training.through PART ANSWERS.jsonl [--checks CHECKS.jsonl] [--out COUNTS.jsonl]

Everything is the pipeline's own but the decode server: its reader gives the answers of `answer.py`. One that
is no cart of the menu counts as overruled, so it is a doubt, and wrong. A simulated customer answers
questions (`services.evaluation.answering`). Prints figures, never a row.
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

from schemas.evidence import Evidence
from services.decoding.short_form import Unreadable
from services.engines.ports import Reading
from services.evaluation.answering import COUNTED, became
from services.evaluation.run import predict
from services.evaluation.statistics import wilson
from services.pipeline.ports import Tools
from services.training.orders import Row, Shop, shops
from services.training.score import answers_in, cart_of


@dataclass(slots=True)
class Recorded:
    """`CartDecoder` that says what was recorded."""

    answer: dict[str, Any]
    shop: Shop
    check: dict[str, Any] | None = None

    def decode(self, *_asked: object, settled: bool = False, in_gaps: bool = False) -> Reading:  # noqa: ARG002 (of the port)
        """The recorded answer, whoever asks; of a settled order the checker's, where it comes to it too."""
        if settled and self.check:
            return self._reading(self.check)
        return self._reading(self.answer)

    def _reading(self, answer: dict[str, Any]) -> Reading:
        text, overruled = answer["text"], 0
        try:
            lines = tuple(self.shop.names.read(text))
        except Unreadable:
            lines, overruled = (), 1
        return Reading(lines, text, answer["logprob"], overruled, "recorded", 0, 0, 0, 0.0)

    def warm(self, evidence: Evidence, called_off: threading.Event | None = None) -> None:
        """Nothing."""


def predicted(shop: Shop, row: Row, decoder: Recorded) -> dict[str, Any]:
    """The prediction row of one order."""
    tools = Tools(
        transcriber=_unasked,
        decoder=lambda: decoder,
        fallback_decoder=lambda: None,
        menu=_unasked,
        recording=_unasked,
        decode_audio=_unasked,
        second_transcriber=lambda: None,
        agreement=lambda *_: None,
        asr_threshold=0.72,
        field_threshold=0.94,
        max_order_total=math.inf,  # type: ignore[arg-type]  # prices of these menus mean nothing
    )
    gold = {"id": row.id, "utterance": row.said, "cart": {"lines": row.lines}}
    return predict(gold, shop.menu, tools, None)


def _unasked(*_asked: Any) -> NoReturn:
    raise NotImplementedError("Orders of text need no such thing")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="through")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--checks", type=Path, help="what `services.training.check` wrote of this part")
    parser.add_argument("--out", type=Path, help="add the counts to this file too, as a line of JSON")
    args = parser.parse_args(argv)
    found = answers_in(args.answers)
    checks = answers_in(args.checks) if args.checks else {}
    counts: Counter[str] = Counter()
    total = 0
    for shop in shops(args.part):
        for row in shop.rows:
            answer = found.get((args.part, row.id))
            if answer is None:
                continue
            checked = checks.get((args.part, row.id))
            recorded = Recorded(answer, shop, checked if checked and checked["same"] else None)
            made = predicted(shop, row, recorded)
            total += 1
            counts.update(became(made, cart_of(row.lines)))
    for name in COUNTED:
        low, high = wilson(counts[name], total)
        shares = f"{counts[name] / total:.1%} ({low:.1%} to {high:.1%})"
        print(f"{args.part}, {name}: {counts[name]} of {total}, {shares}")
    if args.out:
        told = {"part": args.part, "answers": args.answers.name, "orders": total}
        told |= {"checks": args.checks.name} if args.checks else {}
        with args.out.open("a") as lines:
            lines.write(json.dumps(told | {name: counts[name] for name in COUNTED}) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
