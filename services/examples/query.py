"""Answer a question about a small shop with one SQL query. The mask is a grammar, not a JSON Schema.

The grammar is made from the tables below: it can only name their columns, compare a column with possible
values, and select. So every query that it allows runs on SQLite, and none of them writes.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from services.decoding.masked.output import OutputType
from services.decoding.masked.task import Task
from services.examples.runner import Example

CATEGORIES = ("coffee", "tea", "cup", "gift")
STATUSES = ("open", "shipped", "delivered", "cancelled")
TABLES = """\
CREATE TABLE products (product_id INTEGER PRIMARY KEY, name TEXT, category TEXT, price REAL, stock INTEGER);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, product_id INTEGER REFERENCES products, placed_on TEXT,
                     status TEXT, quantity INTEGER);"""
PROMPT = f"""\
You turn a question about a small shop into one SQL query for SQLite. Answer with the query alone.

{TABLES}

- category is one of {", ".join(CATEGORIES)}; status is one of {", ".join(STATUSES)}. Prices are in euros.
- Every order was placed in 2024. A month is a range: May is BETWEEN '2024-05-01' AND '2024-05-31'.
- Both tables together: FROM orders JOIN products USING (product_id).
- Only COUNT, SUM, AVG, MIN and MAX. GROUP BY one column, which is also the first that is selected.
- Select what is asked for and nothing more. Which products: their names. Which orders: their order_id."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An expression in llguidance's Lark, and the bytes of its longest text."""

    expr: str
    longest: int


def word(text: str) -> Piece:
    """Return the piece of this text alone."""
    return Piece(json.dumps(text), len(text))


def row(*pieces: Piece) -> Piece:
    """Return the pieces one after the other."""
    return Piece(" ".join(piece.expr for piece in pieces), sum(piece.longest for piece in pieces))


def either(pieces: Iterable[Piece]) -> Piece:
    """Return one of the pieces."""
    ways = list(pieces)
    return Piece(f"({' | '.join(way.expr for way in ways)})", max(way.longest for way in ways))


def perhaps(piece: Piece) -> Piece:
    """Return the piece or nothing."""
    return Piece(f"({piece.expr})?", piece.longest)


def several(piece: Piece, between: str, most: int) -> Piece:
    """Return one to `most` of the piece, with a text between each two."""
    more = row(word(between), piece)
    return Piece(f"{piece.expr} ({more.expr}){{0,{most - 1}}}", piece.longest + (most - 1) * more.longest)


NUMBER = Piece("/[0-9]{1,4}/", 4)
MONEY = Piece(r"/[0-9]{1,4}(\.[0-9]{1,2})?/", 7)
DAY = Piece("/'2024-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'/", 12)
NAME = Piece("/'([^'\\x00-\\x1f\\x7f]|''){0,30}'/", 30 * 4 + 2)
PRODUCTS = {
    "product_id": NUMBER,
    "name": NAME,
    "category": either(word(f"'{value}'") for value in CATEGORIES),
    "price": MONEY,
    "stock": NUMBER,
}
ORDERS = {
    "order_id": NUMBER,
    "product_id": NUMBER,
    "placed_on": DAY,
    "status": either(word(f"'{value}'") for value in STATUSES),
    "quantity": NUMBER,
}
SOURCES: dict[str, dict[str, Piece]] = {
    "products": PRODUCTS,
    "orders": ORDERS,
    "orders JOIN products USING (product_id)": ORDERS | PRODUCTS,
}
ORDERED = (NUMBER, MONEY, DAY)


def queries(source: str, columns: dict[str, Piece]) -> Piece:
    """Return every query of one FROM."""
    table, _, join = source.partition(" ")
    names = {column: word(column) for column in columns}
    value = either([word("COUNT(*)"), *(_aggregate(column, columns[column]) for column in columns)])
    condition = either(_condition(column, literal) for column, literal in columns.items())
    where = either([several(condition, " AND ", 3), several(condition, " OR ", 3)])
    source_piece = row(word(table), word(f" {join}")) if join else word(table)
    end = row(word(" FROM "), source_piece, perhaps(row(word(" WHERE "), where)))
    listed = row(perhaps(word("DISTINCT ")), several(either(names.values()), ", ", 3), end)
    lists = row(listed, _order(either(names.values())))
    totals = row(several(value, ", ", 2), end)
    grouped = [
        row(
            name,
            perhaps(row(word(", "), value)),
            end,
            word(" GROUP BY "),
            name,
            _order(either([name, value])),
        )
        for name in names.values()
    ]
    return row(word("SELECT "), either([lists, totals, *grouped]))


def _aggregate(column: str, literal: Piece) -> Piece:
    functions = ["COUNT(DISTINCT "]
    functions += ["SUM(", "AVG("] if literal in (NUMBER, MONEY) else []
    functions += ["MIN(", "MAX("] if literal in ORDERED else []
    return row(either(map(word, functions)), word(column), word(")"))


def _condition(column: str, literal: Piece) -> Piece:
    signs = ("=", "!=", "<", "<=", ">", ">=") if literal in ORDERED else ("=", "!=")
    ways = [row(either(word(f" {sign} ") for sign in signs), literal)]
    if literal in ORDERED:
        ways.append(row(word(" BETWEEN "), literal, word(" AND "), literal))
    if literal == NAME:
        ways.append(row(word(" LIKE "), literal))
    return row(word(column), either(ways))


def _order(piece: Piece) -> Piece:
    by = row(word(" ORDER BY "), piece, perhaps(either([word(" ASC"), word(" DESC")])))
    return row(perhaps(by), perhaps(row(word(" LIMIT "), Piece("/[1-9][0-9]?/", 2))))


GRAMMAR = either(queries(source, columns) for source, columns in SOURCES.items())
TASK: Task[str] = Task(
    name="query",
    about="A question about a small shop, as one SQL query that always runs",
    output=OutputType.by_grammar("query", f"start: {GRAMMAR.expr}", GRAMMAR.longest, str),
    prompt=PROMPT,
    examples=(
        (
            "Which gifts are under 20 euros?",
            "SELECT name FROM products WHERE category = 'gift' AND price < 20",
        ),
        (
            "How many orders were delivered in September?",
            "SELECT COUNT(*) FROM orders WHERE status = 'delivered' "
            "AND placed_on BETWEEN '2024-09-01' AND '2024-09-30'",
        ),
        (
            "Which three categories have the most orders, and how many?",
            "SELECT category, COUNT(*) FROM orders JOIN products USING (product_id) "
            "GROUP BY category ORDER BY COUNT(*) DESC LIMIT 3",
        ),
    ),
)


def shop(seed: int) -> sqlite3.Connection:
    """Return a shop in memory; the same seed makes the same rows."""
    rng = random.Random(seed)  # noqa: S311  # a sample, not a secret
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    for number in range(1, 41):
        category = CATEGORIES[number % len(CATEGORIES)]
        price, stock = rng.randrange(250, 4_000, 5) / 100, rng.choice((0, 20, 300))
        product = (number, f"{category} {number}", category, price, stock)
        connection.execute("INSERT INTO products VALUES (?, ?, ?, ?, ?)", product)
    for number in range(1, 241):
        placed = date(2024, 1, 1) + timedelta(days=rng.randrange(366))
        ordered = (number, rng.randint(1, 36), placed.isoformat(), rng.choice(STATUSES), rng.randint(1, 6))
        connection.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", ordered)
    return connection


def exact(sql: str, gold: str) -> bool:
    """Compare the rows that both find in two shops, since two queries may agree on one by chance."""
    return all(_rows(sql, seed) == _rows(gold, seed) for seed in (1, 2))


def _rows(sql: str, seed: int) -> Counter[tuple[object, ...]]:
    """Return the rows found, without their order; sums of fractions depend on theirs."""
    connection = shop(seed)
    try:
        found = connection.execute(sql).fetchall()
        return Counter(tuple(round(v, 3) if isinstance(v, float) else v for v in one) for one in found)
    finally:
        connection.close()


EXAMPLE = Example(TASK, Path(__file__).with_suffix(".jsonl"), exact)
