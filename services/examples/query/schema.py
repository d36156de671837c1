"""What a database holds, told once: tables, the grammar of queries and the page of prompt are made of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Name = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,29}$")]
"""Of a table or column: written as it is, without quotes, so SQLite must not take it for a keyword."""
# It ends a literal (the quote), or a statement's text (signs below a space).
Plain = Annotated[str, Field(pattern=r"^[^'\x00-\x1f\x7f]{1,40}$")]


class Part(BaseModel):
    """Read once and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Key(Part):
    """A row's number, from 1: compared, counted and grouped by, never summed."""

    kind: Literal["key"] = "key"
    name: Name
    most: int = Field(9999, ge=1)


class Whole(Part):
    """A whole number from `least` to `most`."""

    kind: Literal["whole"] = "whole"
    name: Name
    least: int = 0
    most: int


class Money(Part):
    """An amount in euros with up to two decimals, from 0 to below `most` + 1."""

    kind: Literal["money"] = "money"
    name: Name
    most: int = Field(ge=0)


class Day(Part):
    """A date as text, YYYY-MM-DD, in one of the years from `first` to `last`."""

    kind: Literal["day"] = "day"
    name: Name
    first: int = Field(ge=1000, le=9999)
    last: int = Field(ge=1000, le=9999)


class Free(Part):
    """Free text of at most `most` characters."""

    kind: Literal["free"] = "free"
    name: Name
    most: int = Field(30, ge=1)


class Choice(Part):
    """One of a few texts."""

    kind: Literal["choice"] = "choice"
    name: Name
    values: tuple[Plain, ...] = Field(min_length=1)


Column = Annotated[Key | Whole | Money | Day | Free | Choice, Field(discriminator="kind")]


class Table(Part):
    name: Name
    about: str
    columns: tuple[Column, ...] = Field(min_length=1)


class Link(Part):
    """A foreign key: `child.column` holds the `id` of a row of `parent`."""

    child: Name
    column: Name
    parent: Name


class Limits(Part):
    """How much a query may hold; with them every query has an end."""

    tables: int = Field(4, ge=1, description="in a FROM, each joined to one before it along a key")
    columns: int = Field(4, ge=1, description="selected, and aggregates likewise")
    conditions: int = Field(3, ge=1, description="side by side, all with AND or all with OR")
    depth: int = Field(1, ge=0, description="of brackets in a WHERE")
    listed: int = Field(4, ge=1, description="values of an IN")
    orders: int = Field(2, ge=1, description="columns of an ORDER BY")
    rows: int = Field(100, ge=1, description="the largest LIMIT")


class Database(Part):
    """Tables, the keys along which they are joined, and the limits of a query.

    Raises:
        ValidationError: two tables or columns of one name, a key that leads nowhere, or a name that SQLite
            takes for something else.
    """

    tables: tuple[Table, ...] = Field(min_length=1)
    links: tuple[Link, ...] = ()
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _holds(self) -> Self:
        columns = {(table.name, column.name): column for table, column in self.each()}
        for link in self.links:
            for place in ((link.child, link.column), (link.parent, "id")):
                if not isinstance(columns.get(place), Key):
                    raise ValueError(f"{'.'.join(place)} is a key's end, and no column of kind `key`")
            if link.child == link.parent:
                raise ValueError(f"{link.child} can't be joined to itself: no table has a second name here")
        connection = sqlite3.connect(":memory:")
        try:
            connection.executescript(self.statements())
            for table in self.tables:
                names = [column.name for column in table.columns]
                connection.execute(f"SELECT {', '.join(names)} FROM {table.name}")  # noqa: S608  # `Name`
        except sqlite3.Error as error:
            raise ValueError(f"SQLite refuses these tables: {error}") from None
        finally:
            connection.close()
        return self

    def each(self) -> Iterator[tuple[Table, Column]]:
        """Every column with its table."""
        for table in self.tables:
            for column in table.columns:
                yield table, column

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    def statements(self) -> str:
        """CREATE TABLE of every table, for SQLite and for a model to read."""
        return "\n".join(self._statement(table) for table in self.tables)

    def _statement(self, table: Table) -> str:
        parents = {link.column: link.parent for link in self.links if link.child == table.name}
        lines = [f"  {_declared(column, parents.get(column.name))}" for column in table.columns]
        return f"CREATE TABLE {table.name} ( -- {table.about}\n" + ",\n".join(lines) + "\n);"


def _declared(column: Column, parent: str | None) -> str:
    match column:
        case Key(name="id"):
            return "id INTEGER PRIMARY KEY"
        case Key():
            return f"{column.name} INTEGER NOT NULL" + (f" REFERENCES {parent} (id)" if parent else "")
        case Whole():
            return f"{column.name} INTEGER NOT NULL"
        case Money():
            return f"{column.name} REAL NOT NULL"
        case Choice():
            values = ", ".join(f"'{value}'" for value in column.values)
            return f"{column.name} TEXT NOT NULL CHECK ({column.name} IN ({values}))"
        case Day():
            years = str(column.first) if column.first == column.last else f"{column.first} to {column.last}"
            return f"{column.name} TEXT NOT NULL /* date 'YYYY-MM-DD', {years} */"
        case Free():
            return f"{column.name} TEXT NOT NULL"
