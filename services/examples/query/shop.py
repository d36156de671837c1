"""A small shop: four tables in a chain, and rows drawn with a fixed seed.

Another seed is another shop of the same form. Names are each given once, so that grouping by a name is
grouping by its row.
"""

from __future__ import annotations

import random
import sqlite3
from datetime import date, timedelta
from pathlib import Path

from services.examples.query.schema import Choice, Database, Day, Free, Key, Link, Money, Table, Whole

YEAR = 2024
COUNTRIES = ("Germany", "France", "Spain", "Italy", "Poland")
CATEGORIES = ("coffee", "tea", "cup", "gift")
STATUSES = ("open", "shipped", "delivered", "cancelled")
LISTED = {
    "coffee": ("House Blend", "Espresso Forte", "Decaf Dream", "Morning Roast", "Kenya", "Cold Brew Pack"),
    "tea": ("Earl Grey", "Green Sencha", "Mint Tea", "Chai Mix", "Camomile Tea"),
    "cup": ("Blue Cup", "Red Cup", "Travel Cup", "Glass Cup", "Espresso Cup"),
    "gift": ("Gift Card", "Gift Box", "Chocolate Bar", "Coffee Grinder"),
}  # fmt: skip
GIVEN = ("Anna", "Ben", "Carla", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jan")
FAMILY = ("Müller", "O'Brien", "Rossi", "Novak")

SHOP = Database(
    tables=(
        Table(
            name="customers",
            about="people who order",
            columns=(
                Key(name="id"),
                Free(name="name", most=30),
                Choice(name="country", values=COUNTRIES),
                Day(name="joined_on", first=2021, last=2023),
            ),
        ),
        Table(
            name="products",
            about="what the shop sells; price in euros, stock in pieces",
            columns=(
                Key(name="id"),
                Free(name="name", most=30),
                Choice(name="category", values=CATEGORIES),
                Money(name="price", most=999),
                Whole(name="stock", most=999),
            ),
        ),
        Table(
            name="orders",
            about="total in euros, of all its items",
            columns=(
                Key(name="id"),
                Key(name="customer_id"),
                Day(name="placed_on", first=YEAR, last=YEAR),
                Choice(name="status", values=STATUSES),
                Money(name="total", most=9999),
            ),
        ),
        Table(
            name="items",
            about="lines of an order; amount in euros: quantity times price",
            columns=(
                Key(name="id"),
                Key(name="order_id"),
                Key(name="product_id"),
                Whole(name="quantity", least=1, most=99),
                Money(name="amount", most=9999),
            ),
        ),
    ),
    links=(
        Link(child="orders", column="customer_id", parent="customers"),
        Link(child="items", column="order_id", parent="orders"),
        Link(child="items", column="product_id", parent="products"),
    ),
)

ORDERS = 240


def build(path: Path, seed: int = 1) -> None:
    """Write the shop of this seed to a new SQLite file; the same seed makes the same rows."""
    connection = sqlite3.connect(path)
    try:
        connection.executescript(SHOP.statements())
        _fill(connection, random.Random(seed))  # noqa: S311  # a sample, no secret
        connection.commit()
    finally:
        connection.close()


def _fill(connection: sqlite3.Connection, rng: random.Random) -> None:
    names = [f"{given} {family}" for given in GIVEN for family in FAMILY]
    rng.shuffle(names)
    for number, name in enumerate(names, start=1):
        country = rng.choices(COUNTRIES, weights=(5, 4, 3, 2, 1))[0]
        joined = _day(rng, date(2021, 1, 1), date(2023, 12, 31))
        connection.execute("INSERT INTO customers VALUES (?, ?, ?, ?)", (number, name, country, joined))
    cents = {}
    listed = [(category, name) for category, these in LISTED.items() for name in these]
    for number, (category, name) in enumerate(listed, start=1):
        cents[number] = rng.randrange(250, 4_000, 5)
        stock = rng.choice((0, rng.randint(1, 300), rng.randint(1, 300)))
        connection.execute(
            "INSERT INTO products VALUES (?, ?, ?, ?, ?)",
            (number, name, category, cents[number] / 100, stock),
        )
    # A few customers never ordered, and a few products were never sold.
    buyers = rng.sample(range(1, len(names) + 1), rng.randint(33, 37))
    sold = rng.sample(sorted(cents), rng.randint(17, 19))
    line = 0
    for number in range(1, ORDERS + 1):
        bought = [(product, rng.randint(1, 6)) for product in rng.sample(sold, rng.randint(1, 4))]
        total = sum(cents[product] * quantity for product, quantity in bought)
        customer, status = rng.choice(buyers), rng.choices(STATUSES, weights=(2, 3, 6, 1))[0]
        placed = _day(rng, date(YEAR, 1, 1), date(YEAR, 12, 31))
        connection.execute(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?)", (number, customer, placed, status, total / 100)
        )
        for product, quantity in bought:
            line += 1
            amount = cents[product] * quantity / 100
            connection.execute(
                "INSERT INTO items VALUES (?, ?, ?, ?, ?)", (line, number, product, quantity, amount)
            )


def _day(rng: random.Random, first: date, last: date) -> str:
    return (first + timedelta(days=rng.randint(0, (last - first).days))).isoformat()
