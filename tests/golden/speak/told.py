"""Specs for `speak.py` from told orders: one for each file, spoken by the language's voices in turn.

    python -m tests.golden.speak.told tests/told/es/*.orders --out reports/es
    python -m tests.golden.speak.told tests/told/harbor-coffee-k.jsonl --out reports/told
    python -m tests.golden.speak.told --sealed

Runs in saycart's own environment, `speak.py` in its own. Each `NAME.orders` becomes `OUT/NAME/spec.json`, and
its menu, `NAME.menu` or what `NAME` begins with, `OUT/NAME/menu.json`; a `NAME.jsonl` its spec alone.
`--sealed` chooses the orders of the menus by strangers that are spoken (`tests/told/sealed/spoken.jsonl`) and
shows none of them; `golden.py` speaks them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from services.learning.training.notation import Order, read_menu, read_orders
from services.learning.training.orders import shops

SEALED = Path(__file__).resolve().parents[2] / "told" / "sealed"
EACH = 10  # of the sealed orders one in so many is spoken: 8 a menu
ALL_ENGLISH = (
    *("af_heart", "am_michael", "bf_emma", "bm_george", "af_sarah", "am_puck"),
    *("bf_alice", "am_eric", "af_nicole", "bm_lewis", "af_sky", "am_adam"),
)
SPEEDS = (1.0, 1.1, 0.95, 1.2, 1.05)
ENGLISH = ALL_ENGLISH[:6]
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


def sealed() -> list[dict[str, Any]]:
    """Gold rows of sealed orders, voices and speeds in turn; a wish off the menu as gold files have it."""
    some = [(row, shop.menu.id) for shop in shops("sealed") for row in shop.rows[EACH // 2 :: EACH]]
    return [
        {
            "id": row.id,
            "menu": menu,
            "utterance": row.said,
            "audio": f"{row.id}.opus",
            "speech": {"voice": ALL_ENGLISH[n % len(ALL_ENGLISH)], "speed": SPEEDS[n % len(SPEEDS)]},
            "cart": {"lines": [line if line.get("sku") else line | {"sku": None} for line in row.lines]},
        }
        for n, (row, menu) in enumerate(some)
    ]


def write(folder: Path, name: str, document: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    (folder / f"{name}.json").write_text(text, encoding="utf-8")
    print(f"{folder / name}.json")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("orders", nargs="*", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--each", type=int, default=1, help="one order in so many of an .orders file")
    parser.add_argument("--sealed", action="store_true")
    args = parser.parse_args()
    if args.sealed:
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in sealed()]
        (SEALED / "spoken.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{len(lines)} orders")
        return 0
    if not args.orders or not args.out:
        parser.error("name orders and --out, or --sealed")
    for file in args.orders:
        if file.suffix == ".jsonl":
            told = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            write(args.out / file.stem, "spec", {"rows": [written(one, n) for n, one in enumerate(told, 1)]})
            continue
        menu = read_menu(next(m for m in file.parent.glob("*.menu") if file.stem.startswith(m.stem)))
        orders, problems = read_orders(file, menu)
        if problems:
            raise SystemExit("\n".join(problems))
        voices = VOICES.get((menu.language[:2], menu.currency), ALL_ENGLISH)
        some = orders[args.each // 2 :: args.each]
        rows = [row(order, n, file.stem, menu.id, voices) for n, order in enumerate(some, 1)]
        write(args.out / file.stem, "spec", {"rows": rows})
        write(args.out / file.stem, "menu", menu.model_dump(mode="json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
