"""Specs for `speak.py` from told orders: one for each file, spoken by the language's voices in turn.

    python -m tests.golden.speak.told tests/told/es/*.orders --out reports/es
    python -m tests.golden.speak.told tests/told/harbor-coffee-k.jsonl --out reports/told

Runs in saycart's own environment, `speak.py` in its own. Each `NAME.orders` becomes `OUT/NAME/spec.json`, and
its menu, `NAME.menu` or what `NAME` begins with, `OUT/NAME/menu.json`; a `NAME.jsonl` its spec alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from services.training.notation import Order, read_menu, read_orders

ENGLISH = ("af_heart", "am_michael", "bf_emma", "bm_george", "af_sarah", "am_puck")
# By a menu's language and currency. Kokoro has three Spanish voices; for Mexico with Latin American sounds.
VOICES = {
    ("es", "EUR"): ("ef_dora", "em_alex", "em_santa"),
    ("es", "MXN"): ("ef_dora/es-419", "em_alex/es-419", "em_santa/es-419"),
}


def row(order: Order, number: int, name: str, menu: str, voices: tuple[str, ...]) -> dict[str, Any]:
    """One row of a spec."""
    return {
        "id": f"{name}-{number:02}",
        "menu": menu,
        "text": order.said,
        "voice": voices[(number - 1) % len(voices)],
        "expect": "accept",
        "note": ", ".join(order.tags),
        "lines": order.lines,
    }


def written(told: dict[str, Any], number: int) -> dict[str, Any]:
    """One row of a spec from a told order that is JSON already: in English, under its own id."""
    order = Order(told["utterance"], told["cart"]["lines"], tuple(told["tags"]))
    return row(order, number, "", told["menu"], ENGLISH) | {"id": told["id"]}


def write(folder: Path, name: str, document: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    (folder / f"{name}.json").write_text(text, encoding="utf-8")
    print(f"{folder / name}.json")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("orders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    for file in args.orders:
        if file.suffix == ".jsonl":
            told = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            write(args.out / file.stem, "spec", {"rows": [written(one, n) for n, one in enumerate(told, 1)]})
            continue
        menu = read_menu(next(m for m in file.parent.glob("*.menu") if file.stem.startswith(m.stem)))
        orders, problems = read_orders(file, menu)
        if problems:
            raise SystemExit("\n".join(problems))
        voices = VOICES[menu.language[:2], menu.currency]
        rows = [row(order, n, file.stem, menu.id, voices) for n, order in enumerate(orders, 1)]
        write(args.out / file.stem, "spec", {"rows": rows})
        write(args.out / file.stem, "menu", menu.model_dump(mode="json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
