"""How it is asked whether orders need something: it is taken away, and those that use it are read again."""

from __future__ import annotations

import hashlib
import json
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from infra.settings import REPOSITORY
from schemas.menu import Menu
from services.training.notation import read_menu, read_orders
from services.training.orders import Shop
from tests.carts import MENUS
from tests.needed.parts import tables
from tests.readings import Order, digest, kept
from tests.sentences.rows import FOLDER, rows

KEPT = REPOSITORY / ".saycart"
_USUAL = {"en": "copper-skillet", "es": "cafe-sol"}
_SPANISH = REPOSITORY / "tests" / "told" / "es"
# Without a rule an order may be read for ever.
_LONGEST_S = 2.0


class Part(Protocol):
    """One thing that may be needed: where it stands, and its name there."""

    @property
    def entry(self) -> str: ...
    @property
    def shown(self) -> str: ...


P = TypeVar("P", bound=Part)
_Traced = TypeVar("_Traced")


class Uses(Protocol):
    """Orders, and which of them use what."""

    orders: list[Order]

    def of(self, part: Any) -> list[Order]:
        """The orders that may be read otherwise without a part, in the order in which to ask them."""

    def parts_of(self, order: Order, among: Iterable[Any]) -> list[Any]:
        """Those of some parts that may matter to an order."""

    def without(self, gone: Iterable[Any]) -> AbstractContextManager[None]:
        """Within it every order is read without some parts."""


_ASKED: list[Uses] = []
_BEFORE: dict[str, str] = {}
_TOLD: list[Order] = []


def sentences(code: str = "en") -> Iterator[Order]:
    """The sentences that were written for words and rules, over their menus."""
    of_menu = {name: Shop(menu, None, []) for name, menu in _menus(code).items()}  # type: ignore[arg-type]
    for row in rows() if code == "en" else ():
        yield Order(f"sentence {row}", row.said, of_menu[row.menu])
    for name, table in tables(code).items():
        for example in table["examples"]:
            written = {"said": example} if isinstance(example, str) else example
            shop = of_menu[written.get("menu", _USUAL[code])]
            yield Order(f"sentence {code} {name}: {written['said']}", written["said"], shop)


def spanish() -> Iterator[Order]:
    """The told orders of Spanish: rules are of every language, though its words are too few to ask about."""
    for name, menu in _menus("es").items():
        shop = Shop(menu, None, [])  # type: ignore[arg-type]
        for file in sorted(_SPANISH.glob(f"{name}*.orders")):
            found, _ = read_orders(file, menu)
            yield from (Order(f"{file.stem} {n}", order.said, shop) for n, order in enumerate(found, 1))


def _menus(code: str) -> dict[str, Menu]:
    if code == "en":
        return MENUS
    return {file.stem: read_menu(file) for file in sorted(_SPANISH.glob("*.menu"))} | MENUS


def ask_of(uses: Uses, before: Iterable[str]) -> None:
    """From now on it is asked what these orders need, which are read as `before` with all of it."""
    _ASKED[:] = [uses]
    _BEFORE.clear()
    _BEFORE.update(zip((order.name for order in uses.orders), before, strict=True))


def needed_by(part: Any) -> str:
    """The first order or sentence that is read otherwise without a part; "" for none."""
    uses = _ASKED[0]
    with uses.without([part]):
        return next((order.name for order in uses.of(part) if _otherwise(order)), "")


def together(idle: list[P]) -> list[P]:
    """As many of them as can go at once: of two that stand for each other one stays."""
    if not idle:
        return []
    gone, uses = list(idle), _ASKED[0]
    with uses.without(gone):
        other = [order for order in uses.orders if _otherwise(order)]
    for order in other:
        for_it = uses.parts_of(order, gone)
        left = [part for part in gone if part not in for_it]
        for part in for_it:
            with uses.without([*left, part]):
                if not _otherwise(order):
                    left.append(part)
        gone = left
    return together(gone) if other else gone


def _otherwise(order: Order) -> bool:
    """Whether an order is read otherwise now."""

    def too_long(*_: object) -> None:
        raise TimeoutError

    handler = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, _LONGEST_S)
    try:
        return digest(order.said, order.shop) != _BEFORE[order.name]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@cache
def stamp() -> str:
    """What a kept result holds for: the reading, its words, what is read, and how it is asked."""
    reading = REPOSITORY / "services" / "reading"
    files = [*sorted(reading.rglob("*.py")), *sorted((reading / "language" / "en").glob("*.toml"))]
    files += [*sorted(FOLDER.glob("*.toml")), REPOSITORY / "tests" / "told" / "readings.txt"]
    files += [*sorted((reading / "language" / "es").glob("*.toml")), *sorted(_SPANISH.iterdir())]
    files += [Path(__file__).with_name(f"{name}.py") for name in ("parts", "uses", "rules", "fires", "runs")]
    texts = [file.read_bytes() for file in files]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]


def known(file: Path, at: str) -> dict[tuple[str, str], str]:
    """What was found before, by entry and part, at the same stamp; a line that was cut off is none."""
    found = {}
    for line in file.read_text().splitlines() if file.is_file() else ():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if told["at"] == at:
            found[told["entry"], told["what"]] = told["by"]
    return found


def ask(tries: list[P], file: Path, processes: int) -> dict[P, str]:
    """Who needs each part; what a run before found is not asked again."""
    at = stamp()
    before = known(file, at)
    left = [part for part in tries if (part.entry, part.shown) not in before]
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as log, ProcessPoolExecutor(processes) as pool:
        for part, by in zip(left, pool.map(needed_by, left), strict=True):
            before[part.entry, part.shown] = by
            log.write(json.dumps({"at": at, "entry": part.entry, "what": part.shown, "by": by}) + "\n")
            log.flush()
    return {part: before[part.entry, part.shown] for part in tries}


def traces(
    name: str, told: list[Order], processes: int, trace: Callable[[list[Order]], _Traced]
) -> list[_Traced]:
    """Read all orders once, piece by piece, with what they use. Kept, for a run that goes on."""
    file, each = KEPT / f"needed-{name}-{stamp()}.pickle", len(told) // (4 * processes) + 1
    if file.is_file():
        return pickle.loads(file.read_bytes())  # type: ignore[no-any-return]
    _TOLD[:] = told
    pieces = [(trace, n, n + each) for n in range(0, len(told), each)]
    with ProcessPoolExecutor(processes) as pool:
        traced = list(pool.map(_traced, pieces))
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(pickle.dumps(traced))
    return traced


def _traced(piece: tuple[Callable[[list[Order]], _Traced], int, int]) -> _Traced:
    trace, first, end = piece
    return trace(_TOLD[first:end])


def check_written(told: list[Order], digests: list[str]) -> None:
    """Refuse to ask where orders are read otherwise than was written down."""
    found = dict(zip((order.name for order in told), digests, strict=True))
    if other := [name for name, value in kept().items() if found.get(name) != value]:
        raise SystemExit(f"{len(other)} orders are read otherwise than was written down: make readings first")
