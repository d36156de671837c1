"""The task: a question in English, answered with one query of the shop's database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from schemas.errors import AnswerRefused
from services.examples.example import Example, Row
from services.examples.query.grammar import compiled
from services.examples.query.running import Judge, refusal
from services.examples.query.shop import SHOP, build
from services.masked.output import OutputType
from services.masked.task import Task

HERE = Path(__file__).parent
SEEDS = (1, 2, 3)

# None of these is a question of gold.jsonl.
EXAMPLES = (
    ("Which gifts are under 20 euros?", "SELECT name FROM products WHERE category = 'gift' AND price < 20"),
    (
        "How many orders were delivered in September?",
        "SELECT COUNT(*) FROM orders WHERE status = 'delivered' "
        "AND placed_on BETWEEN '2024-09-01' AND '2024-09-30'",
    ),
    (
        "Which three countries have the most orders, and how many?",
        "SELECT customers.country, COUNT(*) FROM orders JOIN customers ON orders.customer_id = customers.id "
        "GROUP BY customers.country ORDER BY COUNT(*) DESC LIMIT 3",
    ),
    (
        "Who bought a Red Cup?",
        "SELECT DISTINCT customers.name FROM items JOIN products ON items.product_id = products.id "
        "JOIN orders ON items.order_id = orders.id JOIN customers ON orders.customer_id = customers.id "
        "WHERE products.name = 'Red Cup'",
    ),
)


def read(text: str) -> str:
    """The query as it is. Raises AnswerRefused where SQLite does not run it, which the mask leaves no room
    for: this is for what was written without one."""
    if problem := refusal(SHOP.statements(), text):
        raise AnswerRefused([("/", problem)], quoted=text[:200])
    return text


def _task(name: str, about: str, *, one_spelling: bool) -> Task[str]:
    lark, longest = compiled(SHOP, one_spelling=one_spelling)
    prompt = (HERE / "prompt.md").read_text(encoding="utf-8").replace("{tables}", SHOP.statements())
    return Task(name, about, OutputType.by_grammar(name, lark, longest, read), prompt, EXAMPLES)


QUERY = _task(
    "query", "a question about a small shop, as one SQL query that always parses", one_spelling=False
)
NARROW = _task("query-one-spelling", "the same, each name and function spelled one way", one_spelling=True)
JUDGE = Judge(build, SEEDS)


def judge(sql: str, row: Row) -> dict[str, bool]:
    """`runs`: SQLite takes it. `right`: and it finds what the gold query does, in three shops."""
    try:
        right = JUDGE.right(sql, row.gold, ordered=row.more.get("ordered", False))
    except sqlite3.Error:
        return {"runs": False, "right": False}
    return {"runs": True, "right": right}


EXAMPLE = Example("query", (QUERY, NARROW), HERE / "gold.jsonl", judge)
