"""What every order that we have is read as, as digests: a change that nobody meant is seen at once.

    python -m tests.readings              # names every order that is read otherwise; make readings
    python -m tests.readings --write      # after a change that is meant; say it in the CHANGELOG

A digest is of the whole evidence but for the menu, byte for byte: told, golden and taught orders, the sealed
ones (of which nothing is shown but that they changed), and orders that the generator says of each menu.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from services.reading.order import read_order
from services.training.orders import Shop, generated, shops

KEPT = Path(__file__).parent / "told" / "readings.txt"
PARTS = ("train", "tune", "sealed", "scored", "golden")
GENERATED, SEED = 20, 17
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class Order:
    """One order: its part, source and id in one `name`, what was said, and where."""

    name: str
    said: str
    shop: Shop


def digest(said: str, shop: Shop) -> str:
    """Ten hex digits of what `said` is read as over a shop's menu, or the error's name."""
    try:
        evidence = read_order(said, shop.menu, 1)
    except Exception as error:  # an order that can't be read has a reading too: that
        return type(error).__name__
    return hashlib.sha256(evidence.model_dump_json(exclude={"menu"}).encode()).hexdigest()[:10]


def read_again(step: int = 1, processes: int = 1) -> dict[str, str]:
    """The digest of each `step`-th order, by part, source and id."""
    with ProcessPoolExecutor(processes) as pool:
        return dict(pair for found in pool.map(_part, PARTS, [step] * len(PARTS)) for pair in found)


def kept() -> dict[str, str]:
    """The digests that were last written."""
    return dict(line.rsplit(" ", 1) for line in KEPT.read_text().splitlines())


def _part(part: str, step: int) -> list[tuple[str, str]]:
    return [(order.name, digest(order.said, order.shop)) for order in list(orders(part))[::step]]


def orders(part: str) -> Iterator[Order]:
    """The orders of one part, and what the generator says of its menus."""
    for shop in shops(part):  # type: ignore[arg-type]
        rows = shop.rows + (generated(shop, GENERATED, SEED) if part in ("train", "tune") else [])
        for row in rows:
            yield Order(f"{part} {row.source} {row.id}", row.said, shop)


def main() -> int:
    """Read all orders; 1 where one is read otherwise than was written down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write down what is read now")
    parser.add_argument("--step", type=int, default=1, help="read one order in so many")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    found = read_again(options.step, options.processes)
    if options.write:
        KEPT.write_text("".join(f"{name} {value}\n" for name, value in found.items()))
        return 0
    before = kept()
    other = [name for name, value in found.items() if before.get(name) != value]
    for name in other[:_SHOWN]:
        print("read otherwise:", name)
    print(f"{len(found)} orders read, {len(other)} otherwise than was written down")
    return bool(other)


if __name__ == "__main__":
    sys.exit(main())
