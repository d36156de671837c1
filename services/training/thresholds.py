"""What other thresholds of the two readers would make of a part's orders: risk against coverage.

    python -m services.training.thresholds PART ANSWERS.jsonl [--out TABLE.json]

A row a setting: from which probability the learned reader is believed alone (`sure`), where the rules' guess
is the same (`likely`), and shown to its customer (`ask`); below which the rules' undoubted cart stands
against another (`stand`; 0: never, as the pipeline has it). Counts as of `through.py`; figures, never a row.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from schemas.decision import Agreement, Policy, Verdict
from schemas.evidence import Evidence
from schemas.transcript import Transcript
from services.checks.decide import decide
from services.checks.two_carts import ASK
from services.checks.two_readers import LIKELY, SURE, compare
from services.engines.ports import Reading
from services.evaluation.answering import became
from services.reading.order import clean, read_order
from services.training.orders import shops
from services.training.score import Cart, answers_in, cart_of
from services.training.through import Recorded

TOLD = (
    "to a human",
    "asked one question",
    "exact after the answers",
    "wrong, unseen",
    "wrong, unseen, if nobody ever said that none is right",
)


@dataclass(frozen=True, slots=True)
class Setting:
    """Probabilities, 0 to 1; see above."""

    sure: float = SURE
    likely: float = LIKELY
    ask: float = ASK
    stand: float = 0.0


SETTINGS = (
    Setting(),
    Setting(math.exp(-0.03), math.exp(-0.3), ask=1.1),  # the first pair that shipped
    Setting(math.exp(-0.03), math.exp(-0.3)),
    *(Setting(ask=at) for at in (0.0, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.1)),
    *(Setting(sure=math.exp(-at)) for at in (0.02, 0.03, 0.05, 0.1)),
    *(Setting(likely=math.exp(-at)) for at in (0.1, 0.3, 0.5, 0.7)),
    *(Setting(stand=at) for at in (0.3, 0.5, 0.7)),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One order with both readings of it, and the cart that is meant."""

    evidence: Evidence
    reading: Reading
    meant: Cart


def cases(part: Any, answers: Path) -> Iterator[Case]:
    """All orders of a part that have an answer."""
    found = answers_in(answers)
    for shop in shops(part):
        for row in shop.rows:
            if answer := found.get((part, row.id)):
                evidence = read_order(clean(row.said), shop.menu, 1)
                reading = Recorded(answer, shop).decode(evidence)
                yield Case(evidence, reading, cart_of(row.lines))


def prediction(case: Case, at: Setting) -> dict[str, Any]:
    """What decides of a prediction row, as the stages `decode` and `validate` come to it."""
    compared = compare(case.reading, case.evidence, sure_at=at.sure, likely_at=at.likely)
    readings = compared.readings
    if readings.agreement is Agreement.DIFFER and readings.probability < at.stand:
        readings = readings.model_copy(update={"agreement": Agreement.AGREED})
    transcript = Transcript(text=case.evidence.transcript, confidence=1.0)
    policy = Policy(
        asr_threshold=0.0,
        field_threshold=0.0,
        max_total=math.inf,
        max_total_asked=math.inf,
        ask_from=at.ask,
    )
    decided = decide(compared.draft, transcript, case.evidence, readings, policy)
    decision = decided.decision
    return {
        "cart": compared.draft.model_dump(mode="json"),
        "findings": [finding.model_dump(mode="json") for finding in decided.findings],
        "decision": "accept" if decision.verdict is Verdict.ACCEPTED else "review",
        "question": decision.question.model_dump(mode="json") if decision.question else None,
        "second_cart": readings.other.model_dump(mode="json") if readings.other else None,
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="thresholds")
    parser.add_argument("part")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    known = list(cases(args.part, args.answers))
    names = [field.name for field in fields(Setting)]
    table = []
    print(f"{len(known)} orders: " + ", ".join([*names, *TOLD]))
    for at in SETTINGS:
        counts: Counter[str] = Counter()
        for case in known:
            counts.update(became(prediction(case, at), case.meant))
        shown = dict(zip(names, (round(value, 4) for value in astuple(at)), strict=True))
        table.append(shown | {name: counts[name] for name in TOLD})
        print(" ".join(f"{value:>6}" for value in table[-1].values()))
    if args.out:
        told = {"part": args.part, "answers": args.answers.name, "orders": len(known), "settings": table}
        args.out.write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
