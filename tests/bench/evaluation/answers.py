"""Answers of a part of the told orders by the product's own reader on this machine, no GPU needed.

    python -m tests.bench.evaluation.answers tune reports/answers/tune.jsonl [--minutes 30]
    python -m services.learning.training.through tune reports/answers/tune.jsonl

In the form of `training/answer.py`, so that what is scored from its answers can be from these:
under the mask, by the reader's own server. One order a second on two cores with the 1.5B, and half a minute a
menu; what is answered is not asked again. Prints no row.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from infra.settings import settings
from schemas.writable import clean
from services.bootstrap import Container
from services.decoding.hosts.embedded import decode_server
from services.decoding.ports import CartRequest
from services.learning.training.orders import shops
from services.learning.training.score import answers_in


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part")
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=600.0)
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    known = answers_in(args.out) if args.out.is_file() else {}
    until, here = time.monotonic() + 60 * args.minutes, settings()
    with (
        decode_server(here) as config,
        args.out.open("a", encoding="utf-8") as out,
    ):
        reader = Container(config).decoder
        for shop in shops(args.part):
            for row in shop.rows:
                if (args.part, row.id) in known or time.monotonic() > until:
                    continue
                found = reader.decode(CartRequest(clean(row.said), shop.menu))
                assert found.trained, "no adapter serves this model"
                told = {"text": found.text, "logprob": found.logprob, "overruled": found.overruled}
                out.write(json.dumps({"part": args.part, "id": row.id, **told}) + "\n")
                out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
