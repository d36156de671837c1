"""Which words of a language no order that we have needs: each is taken away, and the orders that hold it are
read again.

    python -m tests.needed --entries        # whole entries; make words-needed
    python -m tests.needed                  # each word of each entry, which takes much longer

Neither has been run to its end: two busy cores did not finish the entries in eight minutes.

A word is needed where some order is read otherwise without it, byte for byte (`tests/readings.py`). One that
none of ours needs may still be right ("seventeen"): the report is for a person to read. An entry that nothing
needs goes.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache, cached_property
from typing import Any

from infra.settings import REPOSITORY
from services.reading.chart.tokens import folded
from services.reading.language import language as languages
from services.reading.language.language import Language
from services.reading.names import lexicons
from tests.readings import PARTS, Order, digest, kept, orders

REPORT = REPOSITORY / "docs" / "benchmarks" / "reading" / "needed.md"
MOST = 1500  # orders that are read again for one word; the rarest words have fewer
_NEVER = re.compile(r"(?!)")


class Orders:
    """All orders in English by the words that they hold, as they are written and as they are folded."""

    def __init__(self, code: str) -> None:
        self.all: list[Order] = [order for part in PARTS for order in orders(part)]
        self._language = languages.language(code)

    @cached_property
    def _by_word(self) -> Mapping[str, list[Order]]:
        found: dict[str, list[Order]] = {}
        for order in self.all:
            written = re.findall(r"[\w%&]+", order.said.casefold().replace("'", "").replace("’", ""))
            for word in {*written, *folded(order.said, self._language)}:
                found.setdefault(word, []).append(order)
        return found

    def holding(self, words: list[str]) -> list[Order]:
        """Those that hold all of some words; all of them where none is given."""
        if not words:
            return self.all
        rarest = min((self._by_word.get(word, []) for word in words), key=len)
        return [order for order in rarest if all(order in self._held(word) for word in words)]

    @cache  # noqa: B019 - one object lives as long as the process
    def _held(self, word: str) -> frozenset[Order]:
        return frozenset(self._by_word.get(word, []))


def without(language: Language, name: str, word: Any = None) -> Language:
    """A language that lacks an entry's word, or all of them."""
    fields = {field: getattr(language, field) for field in Language.model_fields}
    value = fields[name]
    if isinstance(value, re.Pattern):
        fields[name] = _NEVER
    elif isinstance(value, Mapping):
        fields[name] = {k: v for k, v in value.items() if word is not None and k != word}
    else:
        fields[name] = type(value)(one for one in value if word is not None and one != word)
    return Language.model_construct(**fields)


def needed_by(language: Language, among: list[Order], before: Mapping[str, str]) -> str:
    """The first order that is read otherwise with this language; empty where none is."""
    known = languages.language
    lexicons._LEXICONS.clear()
    languages.language = lambda code: language  # type: ignore[assignment]
    try:
        step = max(len(among) // MOST, 1)
        return next((o.name for o in among[::step] if digest(o.said, o.shop) != before[o.name]), "")
    finally:
        languages.language = known
        lexicons._LEXICONS.clear()


def takeable(language: Language, *, entries: bool) -> Iterator[tuple[str, Any, list[str]]]:
    """What can be taken away, with the words that an order holds where it could matter."""
    for name in Language.model_fields:
        value = getattr(language, name)
        if isinstance(value, str):
            continue
        if entries or isinstance(value, re.Pattern):
            yield name, None, []
            continue
        for one in value:
            if isinstance(one, str | tuple):
                yield name, one, list(one) if isinstance(one, tuple) else [one]


@cache
def _orders(code: str) -> tuple[Orders, dict[str, str]]:
    return Orders(code), kept()


def _tried(code: str, name: str, word: Any, words: list[str]) -> tuple[str, str, str]:
    found, before = _orders(code)
    among = found.holding([w for w in words if w.isalnum()])
    by = needed_by(without(languages.language(code), name, word), among, before)
    return name, " ".join(words), by


def main() -> None:
    """Print what no order needs, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m tests.needed", description=main.__doc__)
    parser.add_argument("--entries", action="store_true", help="whole entries, not each word")
    parser.add_argument("--language", default="en")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    tries = list(takeable(languages.language(options.language), entries=options.entries))
    with ProcessPoolExecutor(options.processes) as pool:
        found = list(
            pool.map(_tried, *zip(*[(options.language, *one) for one in tries], strict=True), chunksize=4)
        )
    idle: dict[str, list[str]] = {}
    for name, words, by in found:
        if not by:
            idle.setdefault(name, []).append(words)
    rows = [f"| `{name}` | {', '.join(words) or 'the whole entry'} |" for name, words in sorted(idle.items())]
    told = f"{sum(map(len, idle.values()))} of {len(found)} are needed by no order of {len(kept())}"
    text = "\n".join([f"{told}.", "", "| entry | what |", "|---|---|", *rows, ""])
    print(text)
    if not options.entries:
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(f"# Words that no order of ours needs\n\nBy `make words-needed`. {text}")


if __name__ == "__main__":
    main()
