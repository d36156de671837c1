"""Specs for `speak.py` from told orders: one for each file, spoken by the language's voices in turn.

    python -m tests.golden.speak.told tests/told/es/*.orders --out reports/es

Runs in saycart's own environment, `speak.py` in its own. Each `NAME.orders` becomes `OUT/NAME/spec.json`, and
its menu, `NAME.menu` or what `NAME` begins with, `OUT/NAME/menu.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from services.training.notation import Order, read_menu, read_orders

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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("orders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    for file in args.orders:
        menu = read_menu(next(m for m in file.parent.glob("*.menu") if file.stem.startswith(m.stem)))
        orders, problems = read_orders(file, menu)
        if problems:
            raise SystemExit("\n".join(problems))
        voices = VOICES[menu.language[:2], menu.currency]
        rows = [row(order, n, file.stem, menu.id, voices) for n, order in enumerate(orders, 1)]
        folder = args.out / file.stem
        folder.mkdir(parents=True, exist_ok=True)
        for name, document in (("spec", {"rows": rows}), ("menu", menu.model_dump(mode="json"))):
            text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
            (folder / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"{folder}: {len(rows)} orders")
    return 0


if __name__ == "__main__":
    sys.exit(main())
