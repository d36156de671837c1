"""Told orders that were spoken: heard with Whisper, read by rules alone, and held against their carts.

    python -m tests.bench.hearing.heard_told reports/es/*/

Folders are as `tests/golden/speak/told.py` and `speak.py` leave them. Hears as the product does, a second
time with the menu's words where the first left doubt, and keeps it in `heard.jsonl`: what is there is not
heard again. No model reads or decodes; what is in doubt is proposed as the rules would have it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from infra.settings import settings
from schemas.cart import CartDraft, Severity
from schemas.compare import canonical
from schemas.evidence import Evidence
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.checks.confidence import field_confidences
from services.checks.evidence import check_fields, check_hearing
from services.checks.facts import check_facts
from services.checks.one_cart import undoubted_cart
from services.checks.triage import doubts
from services.engines.ports import Recording
from services.evaluation.hearing import word_errors
from services.hearing.second_hearing import hear
from services.reading.order import read_order
from tests.bench.fields.hear import FLOOR, listener, samples
from tests.unit.reading.test_told import proposed


def heard(folder: Path, rows: list[dict[str, Any]], menu: Menu) -> dict[str, Transcript]:
    """Transcripts by the order's id."""
    file = folder / "heard.jsonl"
    kept = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {row["id"]: Transcript.model_validate(row["transcript"]) for row in kept}
    ears = listener(threads=2)
    with file.open("a") as out:
        for row in rows:
            if row["id"] not in known:
                recording = Recording(folder / f"{row['id']}.flac", samples)
                known[row["id"]] = hear(recording, menu.language, menu, 1, ears, floor=FLOOR).transcript
                told = {"id": row["id"], "transcript": known[row["id"]].model_dump(mode="json")}
                out.write(json.dumps(told, ensure_ascii=False) + "\n")
                out.flush()
    return known


def accepted(transcript: Transcript, cart: CartDraft | None, evidence: Evidence) -> bool:
    """Whether nobody at the shop would look at an order of which the words leave this cart."""
    if cart is None:
        return False
    menu = evidence.menu
    fields = field_confidences(cart, evidence, transcript)
    found = [*check_hearing(transcript, FLOOR), *check_fields(fields, settings().field_threshold, cart, menu)]
    blocking = [finding for finding in found if finding.severity is Severity.BLOCKING]
    return not doubts(transcript, blocking, asr_threshold=settings().asr_threshold)


def scored(folder: Path) -> Counter[str]:
    """Counts over one folder's orders."""
    menu = Menu.parse(json.loads((folder / "menu.json").read_text()))
    rows = json.loads((folder / "spec.json").read_text())["rows"]
    counts: Counter[str] = Counter()
    for row_id, transcript in heard(folder, rows, menu).items():
        row = next(row for row in rows if row["id"] == row_id)
        wrong, said = word_errors(row["text"], transcript.text, menu.language)
        meant = canonical(row["lines"])
        evidence = read_order(transcript.text, menu, 1)
        cart, lines = undoubted_cart(evidence), proposed(evidence)
        sure = accepted(transcript, cart, evidence)
        question = (
            sure
            and cart is not None
            and any(f.severity is Severity.BLOCKING for f in check_facts(cart, menu))
        )
        right = lines is not None and canonical(lines) == meant
        counts.update(orders=1, word_errors=wrong, words=said, accepted=sure, proposed_rightly=right)
        counts["of them asked for a choice"] += question
        counts["accepted and wrong"] += sure and not right
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        counts = scored(folder)
        print(f"{folder.name}: " + ", ".join(f"{name} {count}" for name, count in counts.items()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
