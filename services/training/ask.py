"""The questions of a part, as an adapter is asked them where our code is not: menus, masks, tokens.

    python -m services.training.ask TOKENIZER OUT.json PART...        # tune, scored, golden, sealed

No cart is in it. `answer.py` answers them, `score.py` holds the answers against the carts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from services.engines.reader.prompt import menu_text
from services.engines.reader.short_mask import short_mask
from services.training.orders import Shop, shops
from services.training.pack import Chat, tokenizer


def questions(chat: Chat, shop: Shop, part: str) -> dict[str, Any]:
    """One menu's tokens and mask, and its orders' tokens by id."""
    return {
        "part": part,
        "menu": chat.menu(menu_text(shop.menu, shop.names)),
        "lark": short_mask(shop.menu, shop.names).lark,
        "orders": [{"id": row.id, "tokens": chat.question(row.said)} for row in shop.rows],
    }


def main(argv: list[str] | None = None) -> int:
    from transformers import AutoTokenizer

    parser = argparse.ArgumentParser(prog="ask")
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("parts", nargs="+", choices=("tune", "scored", "golden", "sealed"))
    args = parser.parse_args(argv)
    chat = Chat(tokenizer(args.tokenizer, AutoTokenizer))
    asked = [questions(chat, shop, part) for part in args.parts for shop in shops(part) if shop.rows]
    args.out.write_text(json.dumps(asked))
    print(f"{len(asked)} menus, {sum(len(a['orders']) for a in asked)} orders")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
