"""The table of docs/quality.md and figures of the README, from the gate's baselines (`make reference`)."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import NamedTuple

from infra.settings import REPOSITORY
from services.learning.evaluation.answering import ONLY_HUMAN
from services.learning.evaluation.figures import wilson
from tests.gate.rows import Row
from tests.gate.store import DATA, ROWS
from tests.gate.tape import read_lines

PAGE = REPOSITORY / "docs/quality.md"
IN_README = ("sealed", "held-out", "golden", "strangers-clean", "strangers-babble")


class Counts(NamedTuple):
    """Outcomes of a set's orders after a simulated customer's answers."""

    orders: int
    right: int
    human: int
    unnecessary: int
    undetected: int


# Measured by tests/bench/multi_turn.py on 2026-11-29: (C) on the page.
TURNS, SHOPS = Counts(150, 135, 18, 1, 1), Counts(180, 162, 36, 4, 0)
TABLE: tuple[tuple[str, str, str | Counts], ...] = (
    ("text, 14 menus by strangers", " sealed", "sealed"),
    ("text, as people mostly speak, menus learned from", " scored", "scored"),
    ("text, six deliberately hard menus", " sealed", "held-out"),
    ("text, sample menus, a third of the orders hard", " sealed", "golden"),
    ("text, two and three utterances, three strangers' menus (C)", " sealed", TURNS),
    ("text, the sample shops of infra/samples/shops: meals, halves, options inside options (C)", "", SHOPS),
    ("speech, strangers' menus", " sealed", "strangers-clean"),
    ("the same in café babble at 5 dB", " sealed", "strangers-babble"),
    ("speech, sample menus", " sealed", "golden-clean"),
    ("the same in café babble at 5 dB", " sealed", "golden-babble"),
    ("real people, one coffee menu", ", **looked at**", "people"),
)


def counted(name: str) -> Counts:
    """Count the outcomes in a set's baseline."""
    rows = [Row.of(document) for document in read_lines(DATA / f"{name}.{ROWS}.gz")]
    needed = {f"blocking {code}" for code in ONLY_HUMAN}
    unnecessary = sum(row.human and row.exact and not needed & {*row.findings} for row in rows)
    right, human, undetected = (sum(map(attrgetter(n), rows)) for n in ("right", "human", "undetected"))
    return Counts(len(rows), right, human, unnecessary, undetected)


def page() -> str:
    """Return docs/quality.md with its table updated."""
    rows = "".join(
        f"| {label} | {now.orders:,}{kind} | {_share(now.right, now.orders)} "
        f"| {_share(now.human, now.orders)} | {now.unnecessary} | {_few(now.undetected, now.orders)} |\n"
        for label, kind, of in TABLE
        for now in [counted(of) if isinstance(of, str) else of]
    )
    return re.sub(r"(?<=\n\|---\|---\|---\|---\|---\|---\|\n)(?:\|.*\n)+", rows, PAGE.read_text(), count=1)


def in_readme(name: str) -> str:
    """Return a set's figures as in the README, without bold marks."""
    now = counted(name)
    cells = [f"{hits:,} ({hits / now.orders:.1%})" if hits else "0" for hits in now]
    return f" | {cells[1]} | {cells[2]}, {now.unnecessary} unnecessary | {cells[4]} |"


def _share(hits: int, orders: int) -> str:
    low, high = wilson(hits, orders)
    return f"{hits / orders:.1%} ({low * 100:.1f}–{high * 100:.1f})"


def _few(hits: int, orders: int) -> str:
    return f"{hits}, {_share(hits, orders)}" if hits else f"0 (at most {wilson(0, orders)[1]:.1%})"
