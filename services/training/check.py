"""What a small model says of the carts that the rules settle on, served as the product serves it.

    python -m services.training.check PART CHECKS.jsonl [--model NAME]

It works on this machine's CPU: the checker's base and adapter in llama.cpp, under the mask, one pass over the
rules' cart of each order that they leave in no doubt. Writes for each whether it came to the same, that
cart, and its probability, for `through --checks`. Prints counts, never a row.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.settings import settings
from infra.weights.models import resolve
from services.checks.one_cart import undoubted_cart, written
from services.decoding.reading import Asked, request
from services.decoding.spellings import MenuContext, Spelling, learned
from services.engines.reader.adapters import made_for
from services.engines.reader.merged import merged
from services.engines.reader_server.service import CHECKER_CONTEXT, Reader
from services.reading.order import read_order
from services.training.orders import Part, Shop, shops
from services.training.score import cart_of


def checked(reader: Reader, shop: Shop, part: str, spelling: Spelling) -> Iterator[dict[str, Any]]:
    """A row for each order of a menu that the rules settle on without a doubt."""
    context = MenuContext(shop.menu)
    asked = Asked("llama.cpp", reader.name, spelling, reader.adapter)
    for row in shop.rows:
        evidence = read_order(row.said, shop.menu, 1)
        draft = written(evidence)
        if draft is None or undoubted_cart(evidence) is None:
            continue
        lines = [line.model_dump(mode="json") for line in draft.lines]
        text = asked.spelling.write(lines, context)
        prediction = {"type": "content", "content": text}
        mask = asked.spelling.mask(row.said, context)
        body = request(row.said, context, asked, mask) | {"prediction": prediction, "check": True}
        began = time.perf_counter()
        found = reader.checked(body, lambda: False)
        tokens = found["choices"][0]["logprobs"]["content"] if found else []
        yield {
            "part": part,
            "id": row.id,
            "same": found is not None,
            "text": text,
            "logprob": round(sum(token["logprob"] for token in tokens), 4),
            "right": cart_of(lines) == cart_of(row.lines),
            "seconds": round(time.perf_counter() - began, 3),
        }


def main(argv: list[str] | None = None) -> int:
    here = settings()
    parser = argparse.ArgumentParser(prog="check")
    parser.add_argument("part", choices=("tune", "scored", "golden", "sealed"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default=here.reader_checker)
    args = parser.parse_args(argv)
    part: Part = args.part
    folder = made_for(args.model, role="check") or made_for(args.model)
    if folder is None:
        parser.error(f"no adapter is for {args.model}")
    model = merged(Path(resolve(args.model, here.models_dir)), folder, here.models_dir)
    reader = Reader(model, None, name=model.name, context=CHECKER_CONTEXT, threads=here.threads)
    rows = [row for shop in shops(part) for row in checked(reader, shop, part, learned(folder))]
    args.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    same = [row for row in rows if row["same"]]
    wrong, left = (sum(not row["right"] for row in some) for some in (rows, same))
    print(f"{part}: {len(rows)} settled, {wrong} of them wrong; the same cart of {len(same)}, {left} wrong")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
