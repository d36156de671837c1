"""What may be compared with a column, by its kind: literals, and the conditions that are made of them."""

from __future__ import annotations

import json

from services.examples.query.pieces import Piece, Rules, either, pattern, row, said, several
from services.examples.query.schema import Choice, Column, Day, Free, Key, Limits, Money, Whole

BYTES_A_SIGN = 4
"""Of one character in UTF-8."""
SAME = ("=", "!=")
ORDERED = (*SAME, "<", "<=", ">", ">=")
MONTH = "(0[1-9]|1[0-2])"
# 29 February in any year: SQLite compares dates as text, so it is no error where there is none.
MONTH_AND_DAY = (
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))"
)


def whole_number(least: int, most: int) -> Piece:
    """Whole numbers from `least` to `most`; llguidance works the digits out."""
    schema = json.dumps({"type": "integer", "minimum": least, "maximum": most})
    return Piece(f"%json {schema}", max(len(str(least)), len(str(most))))


def literal(column: Column, rules: Rules) -> Piece:
    """A value that this column could have."""
    match column:
        case Key():
            return rules.named(f"whole_1_{column.most}", whole_number(1, column.most))
        case Whole():
            name = f"whole_{column.least}_{column.most}".replace("-", "minus_")
            return rules.named(name, whole_number(column.least, column.most))
        case Money():
            units = rules.named(f"whole_0_{column.most}", whole_number(0, column.most))
            cents = pattern(r"\.[0-9]{1,2}", 3)
            return rules.named(
                f"money_{column.most}", Piece(f"{units.expr} ({cents.expr})?", units.longest + cents.longest)
            )
        case Day():
            return pattern(f"'{_years(column)}-{MONTH_AND_DAY}'", len("'YYYY-MM-DD'"))
        case Free():
            return _text(column.most)
        case Choice():
            return either(said(f"'{value}'") for value in column.values)


def condition(name: Piece, column: Column, limits: Limits, rules: Rules) -> Piece:
    """One condition on a column, which `name` calls."""
    value = literal(column, rules)
    signs = SAME if isinstance(column, Free | Choice) else ORDERED
    compared = row(either(said(f" {sign} ") for sign in signs), value)
    listed = row(said(" IN ("), several(value, ", ", limits.listed), said(")"))
    ways = [compared, listed]
    if not isinstance(column, Free | Choice):
        ways.append(row(said(" BETWEEN "), value, said(" AND "), value))
    if isinstance(column, Free):
        ways.append(row(said(" LIKE "), _text(column.most + 2)))  # room for a % at either end
    if isinstance(column, Day):
        ways.append(row(said(" LIKE "), pattern(f"'{_years(column)}-({MONTH}-)?%'", len("'YYYY-MM-%'"))))
    return row(name, either(ways))


def _years(column: Day) -> str:
    return "(" + "|".join(str(year) for year in range(column.first, column.last + 1)) + ")"


def _text(most: int) -> Piece:
    """A quoted text of up to `most` characters; a quote within is doubled, and counts as one."""
    return pattern(rf"'([^'\x00-\x1f\x7f]|''){{0,{most}}}'", BYTES_A_SIGN * most + 2)
