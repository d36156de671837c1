"""The query language: what its mask allows runs on SQLite, within the bound, and says known names only."""

import random
import re
import sqlite3
from itertools import islice
from pathlib import Path

import pytest
from llguidance import LLMatcher
from pydantic import ValidationError

from schemas.errors import AnswerRefused
from services.engines.masks.conformance import any_texts
from services.engines.masks.mask import BYTES
from services.examples.example import Row
from services.examples.query.grammar import compiled, sources
from services.examples.query.running import opened, refusal, rows, same
from services.examples.query.schema import (
    Choice,
    Database,
    Day,
    Free,
    Key,
    Limits,
    Link,
    Money,
    Table,
    Whole,
)
from services.examples.query.shop import SHOP, build
from services.examples.query.task import EXAMPLE, JUDGE, NARROW, QUERY, judge, read
from services.masked.output import OutputType

MATCHER = LLMatcher(BYTES, QUERY.output.mask.lark)

# Two keys between the same tables, a circle of three, whole numbers below 0, and every kind of column.
LEAGUE = Database(
    tables=(
        Table(
            name="teams", about="", columns=(Key(name="id"), Free(name="name", most=5), Key(name="town_id"))
        ),
        Table(
            name="games",
            about="",
            columns=(
                Key(name="id"),
                Key(name="home_id"),
                Key(name="guest_id"),
                Key(name="town_id"),
                Whole(name="lead", least=-20, most=20),
                Day(name="played_on", first=1999, last=2001),
                Money(name="taken", most=0),
            ),
        ),
        Table(name="towns", about="", columns=(Key(name="id"), Choice(name="side", values=("east", "wést")))),
    ),
    links=(
        Link(child="games", column="home_id", parent="teams"),
        Link(child="games", column="guest_id", parent="teams"),
        Link(child="teams", column="town_id", parent="towns"),
        Link(child="games", column="town_id", parent="towns"),
    ),
    limits=Limits(depth=2, conditions=2),
)


def allowed(text: str) -> bool:
    """As `mask.accepts`, without compiling the grammar again for each of hundreds."""
    MATCHER.reset()
    tokens = BYTES.tokenize_str(text)
    return MATCHER.try_consume_tokens(tokens) == len(tokens) and MATCHER.is_accepting()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("query") / "shop.db"
    build(path)
    return path


def test_whatever_the_mask_allows_runs_and_is_within_the_bound(shop: Path) -> None:
    texts = list(islice(any_texts(QUERY.output.mask, random.Random(4), on=0.97), 400))
    with opened(shop) as connection:
        for text in texts:
            assert len(text) <= QUERY.output.mask.longest
            rows(connection, text.decode())
    clauses = (" WHERE ", " GROUP BY ", " ORDER BY ", " LIMIT ", " JOIN ", " LIKE ", " IN (", " OR (", "SUM(")
    assert [clause for clause in clauses if not any(clause.encode() in text for text in texts)] == []


def test_the_grammar_is_made_of_any_description() -> None:
    lark, longest = compiled(LEAGUE)
    mask = OutputType.by_grammar("league", lark, longest, str).mask
    texts = [text.decode() for text in islice(any_texts(mask, random.Random(1), on=0.97), 300)]
    assert [refusal(LEAGUE.statements(), text) for text in texts] == [""] * 300
    assert max(len(text.encode()) for text in texts) <= longest
    # 3 tables; games with teams by two keys, with towns, teams with towns; and each two of the four keys that
    # join all three tables.
    assert len(sources(LEAGUE)) == 3 + 4 + 5


def test_the_bound_is_that_of_the_longest_text() -> None:
    table = Table(name="t", about="", columns=(Key(name="id", most=10), Free(name="said", most=2)))
    lark, longest = compiled(Database(tables=(table,), limits=Limits(conditions=2, listed=2, orders=1)))
    mask = OutputType.by_grammar("tiny", lark, longest, str).mask
    values = ", ".join(["COUNT(DISTINCT t.said)"] * 4)
    listed = "t.said IN ('🍵🍵', '🍵🍵')"
    bracket = f"({listed} AND {listed})"
    text = (
        f"SELECT t.said, {values} FROM t WHERE {bracket} AND {bracket} GROUP BY t.said "
        f"ORDER BY COUNT(DISTINCT t.said) DESC LIMIT 100"
    )
    assert mask.accepts(text)
    assert len(text.encode()) == longest


@pytest.mark.parametrize(
    "text",
    [
        "SELECT placed_on FROM customers",  # a column of another table
        "SELECT customers.name FROM orders",
        "SELECT id FROM orders JOIN customers ON orders.customer_id = customers.id",  # of which of the two?
        "SELECT products.name FROM orders JOIN customers ON orders.customer_id = customers.id",
        "SELECT orders.id FROM orders JOIN customers ON orders.id = customers.id",  # no key
        "SELECT items.id FROM items JOIN customers ON items.id = customers.id",
        "SELECT name FROM staff",
        "SELECT * FROM orders",
        "SELECT id FROM orders WHERE status = 'sent'",
        "SELECT id FROM orders WHERE status LIKE 'o%'",
        "SELECT id FROM orders WHERE placed_on > '2024-02-30'",
        "SELECT id FROM orders WHERE placed_on > '2025-01-01'",
        "SELECT id FROM orders WHERE placed_on > 5",
        "SELECT id FROM orders WHERE total > '5'",
        "SELECT id FROM orders WHERE total > 5.001",
        "SELECT id FROM orders WHERE id = 0",
        "SELECT name FROM products WHERE stock = 1000",
        f"SELECT id FROM customers WHERE name = '{'x' * 31}'",
        "SELECT id FROM customers WHERE name = 'O'Brien'",
        "SELECT status, COUNT(*) FROM orders GROUP BY id",
        "SELECT SUM(customer_id) FROM orders",
        "SELECT id FROM orders WHERE id = 1 AND id = 2 OR id = 3",
        "SELECT id FROM orders WHERE (id = 1 AND (id = 2 OR id = 3)) OR id = 4",
        "SELECT id FROM orders LIMIT 101",
        "SELECT id FROM orders;",
        "SELECT id FROM orders; DELETE FROM orders",
        "DELETE FROM orders",
        "select id from orders",
        "SELECT id FROM orders WHERE",
    ],
)
def test_near_misses_are_refused(text: str) -> None:
    assert not allowed(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT orders.total FROM orders",
        "SELECT total FROM orders JOIN customers ON orders.customer_id = customers.id",
        "SELECT count(*) FROM orders",
    ],
)
def test_one_spelling_is_narrower(text: str) -> None:
    assert allowed(text)
    assert not NARROW.output.mask.accepts(text)


def test_whatever_one_spelling_allows_runs_too() -> None:
    texts = [text.decode() for text in islice(any_texts(NARROW.output.mask, random.Random(2), on=0.97), 100)]
    assert [refusal(SHOP.statements(), text) for text in texts] == [""] * 100
    assert [text for text in texts if not allowed(text)] == []


def test_gold_is_sayable_and_tells_answers_apart() -> None:
    gold = EXAMPLE.rows()
    assert len(gold) == len({row.id for row in gold}) == len({row.text for row in gold}) == 160
    assert not {row.text for row in gold} & {text for text, _ in QUERY.examples}
    for row in gold:
        assert allowed(row.gold), row.gold
        assert judge(row.gold, row) == {"runs": True, "right": True}
        assert any(found and found[0][0] is not None for found in JUDGE.rows(row.gold)), row.gold
        assert row.more.get("ordered", False) == (" ORDER BY " in row.gold and not row.gold.endswith(" 1"))
        if " ORDER BY " in row.gold:  # nothing is tied, so that no other order is as good
            tie = re.match(r"SELECT ([\w.]+)", row.gold).group(1) if " GROUP BY " in row.gold else "rowid"
            for way in ("ASC", "DESC"):
                broken = re.sub(r"( LIMIT \d+)?$", rf", {tie} {way}\1", row.gold, count=1)
                assert JUDGE.right(broken, row.gold, ordered=True), broken


def test_a_query_is_right_by_its_rows() -> None:
    row = Row("q", "", "SELECT name, price FROM products WHERE stock = 0", {})
    turned = "SELECT p.price, p.name FROM products p WHERE p.stock < 1 ORDER BY p.id DESC"
    assert judge(turned, row) == {"runs": True, "right": True}
    assert judge("SELECT name FROM products WHERE stock = 0", row) == {"runs": True, "right": False}
    assert judge("SELECT sku FROM products", row) == {"runs": False, "right": False}
    # True by chance in the first shop, and not in the others.
    count = JUDGE.rows("SELECT COUNT(*) FROM orders WHERE status = 'open'")[0][0][0]
    chance = Row("q", "", f"SELECT COUNT(*) FROM orders WHERE id <= {count}", {})
    assert judge("SELECT COUNT(*) FROM orders WHERE status = 'open'", chance)["right"] is False


def test_same_rows() -> None:
    assert same([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], ordered=False)
    assert not same([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], ordered=True)
    assert not same([(1,), (1,)], [(1,)], ordered=False)
    assert not same([(1,), (1,), (2,)], [(1,), (2,), (2,)], ordered=False)
    assert same([(0.1 + 0.2,)], [(0.3,)], ordered=True)
    assert not same([(0.3,)], [(0.31,)], ordered=True)
    assert not same([("1",)], [(1,)], ordered=True)
    assert not same([(1, 2), (1, 3)], [(2, 1), (1, 3)], ordered=True)  # one turn for all rows
    assert same([], [], ordered=True)


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM orders",
        "INSERT INTO customers VALUES (99, 'x', 'Spain', '2022-01-01')",
        "CREATE TABLE x (y)",
        "PRAGMA query_only = OFF",
        "ATTACH 'x.db' AS x",
        "SELECT 1; DELETE FROM orders",
        "SELECT nothing FROM orders",
        "SELECT COUNT(*) FROM items a, items b, items c, items d",  # would go on for hours
    ],
)
def test_nothing_is_written_and_nothing_runs_on(shop: Path, text: str) -> None:
    before = shop.read_bytes()
    with opened(shop) as connection, pytest.raises((sqlite3.Error, sqlite3.Warning)):
        rows(connection, text)
    assert shop.read_bytes() == before


def test_what_was_written_without_a_mask_is_read_by_sqlite() -> None:
    assert read("SELECT o.id AS number FROM orders o;") == "SELECT o.id AS number FROM orders o;"
    for text in ("SELECT sku FROM products", "Here you are: SELECT 1", "DROP TABLE orders", "a\0b"):
        with pytest.raises(AnswerRefused):
            read(text)


@pytest.mark.parametrize(
    ("description", "why"),
    [
        ({"tables": [{"name": "order", "about": "", "columns": [{"kind": "key", "name": "id"}]}]}, "SQLite"),
        ({"tables": [{"name": "t", "about": "", "columns": [{"kind": "key", "name": "id"}] * 2}]}, "SQLite"),
        ({"tables": [{"name": "t; x", "about": "", "columns": [{"kind": "key", "name": "id"}]}]}, "pattern"),
        (
            {
                "tables": [{"name": "t", "about": "", "columns": [{"kind": "key", "name": "id"}]}],
                "links": [{"child": "t", "column": "u_id", "parent": "u"}],
            },
            "t.u_id",
        ),
    ],
)
def test_a_description_that_makes_no_database_is_refused(description: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Database.model_validate(description)
