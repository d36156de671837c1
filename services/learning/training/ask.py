"""The questions of a part, as an adapter is asked them where our code is not: menus, masks, tokens.

    python -m services.learning.training.ask TOKENIZER OUT.json PART...

Parts are tune, scored, golden, sealed and held-out.

No cart is in it. `answer.py` answers them, `score.py` holds the answers against the carts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from services.decoding.wire_mask import wire_mask
from services.learning.training.examples import Chat, chat_of, question
from services.learning.training.orders import Row, Shop, shops


def questions(chat: Chat, shop: Shop, part: str) -> dict[str, Any]:
    """One menu's tokens, and its orders' tokens and masks by id."""

    def asked(row: Row) -> dict[str, Any]:
        tokens = chat.question(question(row.utterance, shop))
        return {"id": row.id, "tokens": tokens, "lark": wire_mask(shop.names, row.utterance).lark}

    menu = chat.menu(shop.context.text)
    return {"part": part, "menu": menu, "orders": [asked(row) for row in shop.rows]}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="ask")
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("parts", nargs="+", choices=("tune", "scored", "golden", "sealed", "held-out"))
    args = parser.parse_args(argv)
    chat = chat_of(args.tokenizer)
    asked = [questions(chat, shop, part) for part in args.parts for shop in shops(part) if shop.rows]
    args.out.write_text(json.dumps(asked))
    print(f"{len(asked)} menus, {sum(len(a['orders']) for a in asked)} orders")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
