"""What staff corrected, as rows to evaluate on and as names that the menu may lack.

Corrections are the orders that went wrong, not a sample of all orders: a score on them alone says how well
the hard ones go, and nothing about the rest. `utterance` is what was heard; nobody has corrected it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from schemas.cart import CartLine
from schemas.menu import Menu, spoken_key
from schemas.records.reviews import Settled
from services.retrieval.words import english


def gold_rows(settled: Iterable[Settled]) -> Iterator[dict[str, Any]]:
    """A gold row of the contract for each corrected order, with menu and version beside it.

    `audio` is the recording's path below the folder of recordings, which is what `--audio-dir` names.
    """
    for one in settled:
        order = one.order
        text = order.transcript.text if order.transcript else ""
        if one.review.decision != "correct" or order.draft is None or not (text.strip() or order.audio_key):
            continue
        lines = [line.model_dump(mode="json", exclude={"kind", "heard"}) for line in order.draft.lines]
        sound = {"audio": f"{order.audio_key[:2]}/{order.audio_key}"} if order.audio_key else {}
        yield {
            "id": order.id,
            "menu": order.menu_id,
            "menu_version": order.menu_version,
            "utterance": text,
            **sound,
            "cart": {"lines": lines},
        }


def aliases(settled: Iterable[Settled], menu: Callable[[str], Menu]) -> list[dict[str, Any]]:
    """Words that staff took for another item than the machine did, the commonest first.

    Proposals for a person to look at: `menu` gives the newest version of a menu, and what it knows by any
    name already is left out.
    """
    counted: Counter[tuple[str, str, str]] = Counter()
    for one in settled:
        if one.review.proposed is None or one.after is None:
            continue
        for old in one.review.proposed.lines:
            new = next((line for line in one.after.lines if line.heard.text == old.heard.text), None)
            if new is None or new.sku is None or new.sku == old.sku:
                continue
            known = menu(one.order.menu_id)
            words = _name_in(new, known)
            if words and known.item(new.sku) and words not in _names(known):
                counted[one.order.menu_id, new.sku, words] += 1
    return [
        {"menu": menu_id, "sku": sku, "alias": words, "count": count}
        for (menu_id, sku, words), count in counted.most_common()
    ]


def _names(menu: Menu) -> set[str]:
    return {spoken_key(name) for item in menu.items for name in (item.name, *item.aliases)}


def _name_in(line: CartLine, menu: Menu) -> str:
    """What is left of a line's words without numbers, fillers, sizes and its own options: the item's name."""
    options = {(o.group, o.id) for o in line.options}
    said = [
        *(name for size in menu.sizes for name in (size.name, *size.aliases)),
        *(
            name
            for group in menu.option_groups
            for option in group.options
            if (group.id, option.id) in options
            for name in (option.name, *option.aliases)
        ),
    ]
    other = {word for name in said for word in spoken_key(name).split()}
    other |= english().small_words | english().numbers.keys()
    words = re.findall(r"\w+", line.heard.text.casefold().replace("'", ""))
    return " ".join(word for word in words if word not in other and not word.isdecimal())
