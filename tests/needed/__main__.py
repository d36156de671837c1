"""Which words of a language no order that we have needs: each is taken away, and the orders that use it are
read again. It goes on where it stopped.

    python -m tests.needed                  # each word of each entry; make words-needed
    python -m tests.needed --entries        # whole entries

A word is needed where an order is read otherwise without it, byte for byte (`tests/readings.py`), or else a
sentence that was written for words and rules: an example of an entry, or a row of `tests/sentences`. Members
of a closed class (`closed` in the entry) are not asked about, nor what keeps a wrong cart away (`guards`). Of
what nobody needs alone, as much as can go together is told; it goes (ADR 68).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from infra.settings import REPOSITORY
from services.training.orders import Shop
from tests.carts import MENUS
from tests.needed.parts import Part, parts, said_in, tables, whole, without
from tests.needed.uses import Trace, Uses, read_with, trace
from tests.readings import PARTS, Order, digest, kept, orders
from tests.sentences.rows import FOLDER, rows

REPORT = REPOSITORY / "docs" / "benchmarks" / "reading" / "needed.md"
_DECISION = "../../../infra/adr/0068-what-no-order-needs-goes.md"
KEPT = REPOSITORY / ".saycart"
_USUAL = "copper-skillet"
_USES: dict[str, Uses] = {}
_BEFORE: dict[str, str] = {}
_TOLD: list[Order] = []


def sentences() -> Iterator[Order]:
    """The sentences that were written for words and rules, over their menus."""
    of_menu = {name: Shop(menu, None, []) for name, menu in MENUS.items()}  # type: ignore[arg-type]
    for row in rows():
        yield Order(f"sentence {row}", row.said, of_menu[row.menu])
    for name, table in tables("en").items():
        for example in table["examples"]:
            written = {"said": example} if isinstance(example, str) else example
            shop = of_menu[written.get("menu", _USUAL)]
            yield Order(f"sentence {name}: {written['said']}", written["said"], shop)


def needed_by(part: Part, gone: frozenset[Part] = frozenset()) -> str:
    """The first order or sentence that is read otherwise without a part, with others `gone`; "" for none."""
    uses = _USES["en"]
    with read_with(without("en", {*gone, part})):
        # Sentences last, since it is told when they alone need it; and what says it first, to be done sooner.
        among = sorted(
            uses.of(part), key=lambda o: (o.name.startswith("sentence"), not said_in(part, o.said))
        )
        return next((o.name for o in among if digest(o.said, o.shop) != _BEFORE[o.name]), "")


def together(idle: list[Part]) -> list[Part]:
    """As many of them as can go at once: of two that stand for each other one stays."""
    gone, uses = list(idle), _USES["en"]
    with read_with(without("en", gone)):
        other = [o for o in uses.orders if digest(o.said, o.shop) != _BEFORE[o.name]]
    for order in other:
        for_it = uses.parts_of(order, gone)
        left = [part for part in gone if part not in for_it]
        for part in for_it:
            with read_with(without("en", [*left, part])):
                if digest(order.said, order.shop) == _BEFORE[order.name]:
                    left.append(part)
        gone = left
    return together(gone) if other else gone


@cache
def stamp() -> str:
    """What a kept result holds for: the reading, its words, and what is read."""
    reading = REPOSITORY / "services" / "reading"
    files = [*sorted(reading.rglob("*.py")), *sorted((reading / "language" / "en").glob("*.toml"))]
    files += [*sorted(FOLDER.glob("*.toml")), REPOSITORY / "tests" / "told" / "readings.txt"]
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


def ask(tries: list[Part], file: Path, processes: int) -> dict[Part, str]:
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


def load(told: list[Order], processes: int) -> None:
    """Read all orders once: what they become, and what they use. Kept, for a run that goes on."""
    file, each = KEPT / f"needed-trace-{stamp()}.pickle", len(told) // (4 * processes) + 1
    if file.is_file():
        traces = pickle.loads(file.read_bytes())
    else:
        _TOLD[:] = told
        with ProcessPoolExecutor(processes) as pool:
            traces = list(pool.map(_traced, [(n, n + each) for n in range(0, len(told), each)]))
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(pickle.dumps(traces))
    traced = Trace([], [], traces[0].joined)
    for one in traces:
        traced.used += one.used
        traced.digests += one.digests
    _BEFORE.update(zip((order.name for order in told), traced.digests, strict=True))
    if other := [name for name, value in kept().items() if _BEFORE.get(name) != value]:
        raise SystemExit(f"{len(other)} orders are read otherwise than was written down: make readings first")
    _USES["en"] = Uses("en", told, traced)


def _traced(between: tuple[int, int]) -> Trace:
    return trace("en", _TOLD[slice(*between)])


def main() -> None:
    """Print what no order needs, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m tests.needed", description=main.__doc__)
    parser.add_argument("--entries", action="store_true", help="whole entries, not each word")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    load([*(order for part in PARTS for order in orders(part)), *sentences()], options.processes)
    tries = list(whole("en") if options.entries else parts("en"))
    found = ask(tries, KEPT / f"needed-{'entries' if options.entries else 'words'}.jsonl", options.processes)
    by_sentence = sum(by.startswith("sentence") for by in found.values())
    gone = together([part for part, by in found.items() if not by])
    idle: dict[str, list[str]] = {}
    for part in gone:
        idle.setdefault(part.entry, []).append(part.shown)
    table = "".join(f"| `{name}` | {', '.join(what)} |\n" for name, what in sorted(idle.items()))
    by_order = len(found) - by_sentence - sum(not by for by in found.values())
    text = (
        f"Of {len(found)}, {by_order} are needed by an order of ours, {by_sentence} by a sentence alone, and "
        f"{len(gone)} by nothing, all together.\n\n"
        + (f"| entry | what |\n|---|---|\n{table}" if gone else "")
    )
    print(text)
    if not options.entries:
        REPORT.parent.mkdir(exist_ok=True)
        told = f"By `make words-needed`. {text.rstrip()}\n\n{_not_asked()}"
        REPORT.write_text(f"# Words that no order of ours needs\n\n{told}")


def _not_asked() -> str:
    """The entries with words that stay in any case, by the kind that they are of."""
    told = ""
    for field, why in (("closed", "Closed classes"), ("guards", "What keeps a wrong cart away")):
        by_kind: dict[str, list[str]] = {}
        for name, table in tables("en").items():
            kinds = table.get(field, {})
            for kind in [kinds] if isinstance(kinds, str) else kinds:
                by_kind.setdefault(kind.rstrip(".").lower(), []).append(f"`{name}`")
        rows = "".join(f"| {kind} | {', '.join(names)} |\n" for kind, names in sorted(by_kind.items()))
        told += f"\n{why}, not asked about ([ADR 68]({_DECISION})):\n\n| kind | entries |\n|---|---|\n{rows}"
    return told.lstrip()


if __name__ == "__main__":
    main()
