"""Answer a question about a small shop with one SQL query. The mask is a grammar, not a JSON Schema.

The grammar is made from the tables below: it can only name their columns, compare a column with possible
values, and select. So every query that it allows runs on SQLite, and none of them writes.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

from services.clients.masked.saycart_masked import OutputType
from services.decoding.tasks import Task
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


LONGEST = 600
"""Bytes of a query: three conditions on names of 30 signs are most of it."""
# What a column may be compared with, and how it may be summed up, by its kind.
TERMINALS = r"""
number_is: COMPARED NUMBER | " BETWEEN " NUMBER " AND " NUMBER
money_is: COMPARED MONEY | " BETWEEN " MONEY " AND " MONEY
day_is: COMPARED DAY | " BETWEEN " DAY " AND " DAY
name_is: (" = " | " != " | " LIKE ") NAME
category_is: (" = " | " != ") ("'coffee'" | "'tea'" | "'cup'" | "'gift'")
status_is: (" = " | " != ") ("'open'" | "'shipped'" | "'delivered'" | "'cancelled'")
COMPARED: " = " | " != " | " < " | " <= " | " > " | " >= "
NUMBER: /[0-9]{1,4}/
MONEY: /[0-9]{1,4}(\.[0-9]{1,2})?/
DAY: /'2024-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'/
NAME: /'([^'\x00-\x1f\x7f]|''){0,30}'/
DIRECTION: " ASC" | " DESC"
LIMIT: / LIMIT [1-9][0-9]?/
"""
SUMS = {"number": ("SUM", "AVG", "MIN", "MAX"), "money": ("SUM", "AVG", "MIN", "MAX"), "day": ("MIN", "MAX")}
PRODUCTS = {
    "product_id": "number",
    "name": "name",
    "category": "category",
    "price": "money",
    "stock": "number",
}
ORDERS = {
    "order_id": "number",
    "product_id": "number",
    "placed_on": "day",
    "status": "status",
    "quantity": "number",
}


def one_of(ways: Iterable[str]) -> str:
    """Return a Lark expression of any of these."""
    return " | ".join(ways)


def rules(rule: str, source: str, columns: dict[str, str]) -> str:
    """Return the rule for every query of one FROM, and the rules that it uses."""
    sums = [f"{function}({name})" for name, kind in columns.items() for function in SUMS.get(kind, ())]
    counts = ["COUNT(*)", *(f"COUNT(DISTINCT {name})" for name in columns)]
    grouped = (
        f'"{name}" (", " {rule}_value)? {rule}_from " GROUP BY {name}" '
        f'(" ORDER BY " ("{name}" | {rule}_value) DIRECTION?)? LIMIT?'
        for name in columns
    )
    return f"""
{rule}: {rule}_list | {rule}_value (", " {rule}_value)? {rule}_from | {one_of(grouped)}
{rule}_list: "DISTINCT "? {rule}_name (", " {rule}_name){{0,2}} {rule}_from {rule}_order? LIMIT?
{rule}_order: " ORDER BY " {rule}_name DIRECTION?
{rule}_from: " FROM " {source} (" WHERE " ({rule}_all | {rule}_any))?
{rule}_all: {rule}_where (" AND " {rule}_where){{0,2}}
{rule}_any: {rule}_where (" OR " {rule}_where){{0,2}}
{rule}_where: {one_of(f'"{name}" {kind}_is' for name, kind in columns.items())}
{rule}_name: {one_of(f'"{name}"' for name in columns)}
{rule}_value: {one_of(f'"{value}"' for value in counts + sums)}
"""


GRAMMAR = "".join(
    (
        'start: "SELECT " (products | orders | joined)',
        rules("products", '"products"', PRODUCTS),
        rules("orders", '"orders"', ORDERS),
        rules("joined", '"orders" " JOIN products USING (product_id)"', ORDERS | PRODUCTS),
        TERMINALS,
    )
)
TASK: Task[str] = Task(
    name="query",
    about="A question about a small shop, as one SQL query that always runs",
    output=OutputType.by_grammar("query", GRAMMAR, LONGEST, str),
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
