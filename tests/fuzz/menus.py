"""Random menus of awkward names, and orders said from them; seeded, as Hypothesis draws no 10,000 items."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

from schemas.menu import Menu, spoken_key

SYLLABLES = "bra cho del fen gor hip jun kel lom mip nar oxo pil quo ras sut tev ulm vab wex yor zin".split()
# Breaks quoting, grammars, terminals and tokenizers if it is not escaped.
AWKWARD = (
    '"', '""', "\\", '\\"', "\\n", "\\u0022",
    "🍵", "👨👩👧", "🇫🇷", "é", "e\u0301", "ß", "ﬁ", "中文", "שלום",
    "مرحبا", "ñ", "½",
    "%llguidance {}", "%regex", '" | "', "/.*/", "(?s:.*)", "{0,5}", "start:", "#{HEARD}", "[]", "{}", "]}",
    '","sku":"', "null", "<|im_end|>", "</s>", "<file_sep>", "<s", "|>", "$",
    "^", "&", "~", "'", "`", "--", "//", "2", "two", "1",
)  # fmt: skip
NUMBERS = ("a", "two", "three", "2", "twelve", "no", "extra", "light", "double")


def any_name(rng: random.Random, taken: dict[str, str]) -> str:
    """A name that no other in `taken` has, as ears tell; often one that begins like another."""
    while True:
        words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            words.insert(rng.randrange(len(words) + 1), rng.choice(AWKWARD))
        if taken and rng.random() < 0.2:
            words.insert(0, rng.choice(list(islice(taken.values(), 50))))
        joint = rng.choice((" ", " ", ""))
        name = joint.join(words).strip()[:80].strip()
        if spoken_key(name) and spoken_key(name) not in taken:
            taken[spoken_key(name)] = name
            return name


def any_menu(rng: random.Random, items: int) -> Menu:
    """`items` items, up to five sizes and up to twelve groups of options."""

    def parts(count: int, letter: str) -> list[dict[str, Any]]:
        taken: dict[str, str] = {}
        return [{"id": f"{letter}{i}", "name": any_name(rng, taken)} for i in range(count)]

    sizes, groups = parts(rng.randint(0, 5), "s"), parts(rng.randint(0, 12), "g")
    for group in groups:
        group["options"] = parts(rng.randint(1, 12), "o")
        group["choose"] = rng.choice(("one", "many"))
    dishes = parts(items, "i")
    for dish in dishes:
        dish["sku"] = dish.pop("id")
        dish["option_groups"] = [g["id"] for g in rng.sample(groups, min(len(groups), rng.randint(0, 4)))]
        priced = rng.sample(sizes, rng.randint(0, len(sizes)))
        dish |= {"prices": {size["id"]: 1 for size in priced}} if priced else {"price": 1}
    document = {"id": "any", "name": "any", "currency": "USD", "sizes": sizes, "option_groups": groups}
    return Menu.parse({**document, "items": dishes})


def any_order(rng: random.Random, menu: Menu) -> str:
    """One to four items of the menu, with numbers, sizes and options around them, and words of no menu."""
    said = []
    for item in rng.choices(menu.items, k=rng.randint(1, 4)):
        size = menu.size(rng.choice(item.size_ids)) if item.size_ids and rng.random() < 0.6 else None
        groups = [g for g in menu.option_groups if g.id in item.option_groups]
        options = [rng.choice(group.options).name for group in groups if rng.random() < 0.6]
        said.append(rng.choice(NUMBERS))
        said += [size.name] if size else []
        said.append(item.name)
        said += [f"with {rng.choice(('', *NUMBERS))} {name}" for name in options]
        said.append(rng.choice(("and", ",", "please", "no wait", "goldfish", rng.choice(AWKWARD))))
    return " ".join(said)
