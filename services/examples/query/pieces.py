"""Parts of a grammar in llguidance's Lark, each with the size of the longest text that it matches.

Its lexer is greedy: where one lexeme begins another (`orders`, `orders JOIN …`) and both are open, the
shorter is lost as soon as the longer could go on. So texts are cut at words, alike in every branch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """An expression of Lark, and its longest text in bytes."""

    expr: str
    longest: int


def said(text: str) -> Piece:
    """This text and no other."""
    return Piece(json.dumps(text, ensure_ascii=False), len(text.encode()))


def pattern(regex: str, longest: int) -> Piece:
    """Texts of a regex of Rust's, the longest of `longest` bytes as its writer knows."""
    return Piece(f"/{regex}/", longest)


def row(*pieces: Piece) -> Piece:
    """One after the other."""
    return Piece(" ".join(piece.expr for piece in pieces), sum(piece.longest for piece in pieces))


def either(pieces: Iterable[Piece]) -> Piece:
    """One of these; there has to be one."""
    one_of = list(pieces)
    return Piece(
        "(" + " | ".join(piece.expr for piece in one_of) + ")", max(piece.longest for piece in one_of)
    )


def perhaps(piece: Piece) -> Piece:
    """This, or nothing."""
    return Piece(f"({piece.expr})?", piece.longest)


def several(piece: Piece, between: str, most: int, least: int = 1) -> Piece:
    """From `least` (1 or more) to `most` of it, with a text between two."""
    if most == 1:
        return piece
    more = row(said(between), piece)
    return Piece(
        f"{piece.expr} ({more.expr}){{{least - 1},{most - 1}}}", piece.longest + (most - 1) * more.longest
    )


class Rules:
    """Rules by name. What stands in many places is written once."""

    def __init__(self) -> None:
        self._named: dict[str, Piece] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._named

    def named(self, name: str, piece: Piece) -> Piece:
        """A reference to `piece` under this name, which has to be given to one expression only.

        Raises:
            ValueError: the name stands for another expression.
        """
        if self._named.setdefault(name, piece) != piece:
            raise ValueError(f"Two rules have the name {name!r}")
        return Piece(name, piece.longest)

    def lark(self, start: Piece) -> str:
        lines = [f"start: {start.expr}", *(f"{name}: {piece.expr}" for name, piece in self._named.items())]
        return "\n".join(lines)
