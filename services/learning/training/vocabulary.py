"""Write `services/validation/ordering_words.txt`: the words that customers use when they order.

    python -m services.learning.training.vocabulary

A word counts if orders on at least two menus have it, as spoken or as transcribed. Orders with an allergy or
a diet are left out: their words must stay unfamiliar.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from schemas.cart import DIETARY
from services.learning.training.orders import Row, shops
from services.retrieval.words import words
from services.validation.unfamiliar import ORDERING_WORDS

MIN_MENUS = 2


def main() -> None:
    """Count the words of all orders that are learned from, and write the file."""
    menus: defaultdict[str, set[str]] = defaultdict(set)
    for shop in shops("train"):
        for row in shop.rows:
            if not any(kind in DIETARY for kind, _ in row.notes):
                for word in _stems(row):
                    menus[word].add(shop.menu.id)
    common = sorted(word for word, where in menus.items() if len(where) >= MIN_MENUS)
    ORDERING_WORDS.write_text("".join(f"{word}\n" for word in common), encoding="utf-8")
    print(f"{len(common)} words in {ORDERING_WORDS.name}")


def _stems(row: Row) -> Iterator[str]:
    pairs = (transcript for pair in row.pairs for transcript in pair)
    for text in (row.utterance, row.transcript or "", *pairs):
        yield from (word.stem for word in words(text) if not word.stem.isdigit())


if __name__ == "__main__":
    main()
