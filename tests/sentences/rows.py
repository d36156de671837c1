"""Sentences with what becomes of them, one file for each phenomenon of speech: `corrections.toml`, …

    [[order]]
    menu = "harbor-coffee"
    said = "a small latte, oh, make that a large"
    cart = "1 latte L"
    end = "accepted"
    why = "…"

`cart`: what the words leave, as tests/carts.py writes it, whoever has the last word. Each line of it is
required and leaves nothing open; with `settled = false` one of them leaves something open.
`end`: "accepted" (nobody looks at it) or "doubt" (a human does). Without it, either will do.
`wrong`: what the rules accept in the place of `cart`, without a doubt: only the learned reader can tell
(ADR 37). A rule that mends it takes the key away.
`unexplained`: words, at least, that nothing accounts for. `evidence`: marks of the evidence that are set, or
are not. `why`: what the row is there for, where its file does not say it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One sentence over one menu, and what has to become of it."""

    phenomenon: str
    menu: str
    said: str
    cart: str | None = None
    end: Literal["accepted", "doubt"] | None = None
    wrong: str | None = None
    settled: bool = True
    unexplained: tuple[str, ...] = ()
    evidence: dict[str, bool] = field(default_factory=dict)
    why: str = ""

    def __str__(self) -> str:
        return f"{self.phenomenon}, {self.menu}: {self.said}"


def rows() -> list[Row]:
    """Every row, file by file. A key that is unknown or missing is a TypeError."""
    return [
        Row(phenomenon=file.stem, **{**order, "unexplained": tuple(order.get("unexplained", ()))})
        for file in sorted(FOLDER.glob("*.toml"))
        for order in tomllib.loads(file.read_text(encoding="utf-8"))["order"]
    ]
