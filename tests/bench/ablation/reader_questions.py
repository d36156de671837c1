"""The learned reader's questions, asked otherwise than the product asks: what mask, training and prompt give.

    python -m tests.bench.ablation.reader_questions TOKENIZER OUT.json PART [--mask rules] [--prompt told]

`--mask rules` opens to each order only what the rules found in its words: the names of `Evidence`, place by
place, with their sizes, options and numbers, and `?` beside them. `--prompt told` describes the short form to
a model that never learned it. `answer_vllm.py` answers them, `services.training.score` scores the answers.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from schemas.cart import MAX_LINES, MAX_OPTIONS
from schemas.evidence import Evidence, LineEvidence
from services.engines.reader.prompt import menu_text
from services.engines.reader.short_form import AMOUNTS, NOTHING, OFF_MENU, Names
from services.engines.reader.short_mask import either, short_mask
from services.reading.order import read_order
from services.training.orders import Row, Shop, shops
from services.training.pack import Chat, tokenizer

TOLD = (
    "Write the order in one line. For each thing that is wanted write how many, its size and a bar where it"
    " has sizes, its name, and each option behind a plus, with no, light or extra where that was said; part"
    " things by semicolons. Use the names of the menu and no others: ? stands for what is not on the menu,"
    " and nothing for an order of nothing. On another menu, “Hi, two large lattes with oat milk and no foam,"
    " and a muffin please” is: 2 large | latte + oat milk + no foam; 1 muffin"
)


def rules_mask(evidence: Evidence, names: Names) -> str:
    """The short forms of what the rules opened, as an llguidance grammar."""
    kinds = [form for line in evidence.lines for form in _forms(line, names)]
    off_menu = f'NUMBER " {OFF_MENU}"'
    return "\n".join(
        [
            "%llguidance {}",
            "start: CART",
            f'CART: "{NOTHING}" | LINE ("; " LINE){{0,{MAX_LINES - 1}}}',
            f"LINE: {' | '.join([off_menu, *(f'KIND{n}' for n in range(len(kinds)))])}",
            "NUMBER: /[1-9][0-9]{0,2}/",
            *(f"KIND{n}: {form}" for n, form in enumerate(kinds)),
            "",
        ]
    )


def _forms(line: LineEvidence, names: Names) -> list[str]:
    """What a place may be, one form an item."""
    forms = []
    for sku in line.items:
        item = names.menu.item(sku)
        assert item is not None
        called = {(choice.group, choice.id): choice.name for choice in names.choices(item)}
        sizes = [size for size in line.sizes if size in item.size_ids]
        sized = f"({either(names.sizes[size] + ' | ' for size in sizes)})? " if sizes else ""
        options = [
            f" + {AMOUNTS[amount.value]}{called[option.group, option.id]}{f' x{count}' if count > 1 else ''}"
            for option in line.offered(sku, names.menu)
            for amount in option.amounts
            for count in option.counts
        ]
        said = f" ({either(options)}){{0,{MAX_OPTIONS}}}" if options else ""
        numbers = either(map(str, line.quantities))
        forms.append(f'({numbers}) " " {sized}{either([names.items[sku]])}{said}')
    return forms


def questions(chat: Chat, shop: Shop, part: str, *, by_rules: bool, told: bool) -> dict[str, Any]:
    """As `services.training.ask` has them; an order may have a mask of its own."""
    menu = menu_text(shop.menu, shop.names)
    return {
        "part": part,
        "menu": chat.menu(f"{TOLD}\n\n{menu}" if told else menu),
        "lark": short_mask(shop.menu, shop.names).lark,
        "orders": [_order(chat, shop, row, by_rules) for row in shop.rows],
    }


def _order(chat: Chat, shop: Shop, row: Row, by_rules: bool) -> dict[str, Any]:
    asked = {"id": row.id, "tokens": chat.question(row.said)}
    if by_rules:
        asked["lark"] = rules_mask(read_order(row.said, shop.menu, 1), shop.names)
    return asked


def main(argv: list[str] | None = None) -> int:
    from transformers import AutoTokenizer

    parser = argparse.ArgumentParser(prog="reader_questions")
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("part", choices=("tune", "scored", "golden", "sealed"))
    parser.add_argument("--mask", choices=("menu", "rules"), default="menu")
    parser.add_argument("--prompt", choices=("learned", "told"), default="learned")
    args = parser.parse_args(argv)
    chat = Chat(tokenizer(args.tokenizer, AutoTokenizer))
    ways = {"by_rules": args.mask == "rules", "told": args.prompt == "told"}
    args.out.write_text(json.dumps([questions(chat, shop, args.part, **ways) for shop in shops(args.part)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
