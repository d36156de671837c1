"""A database's description -> the grammar of all queries about it, and the longest of them.

There is one branch for each set of tables that can be joined, and in it only their columns can be said:
plain where one table is asked, `table.column` where several are. A grouped query selects the column that it
is grouped by, since each such column is a branch as well. No query writes: there is no statement but SELECT.

Cost: there are as many branches as connected parts of the keys' graph, 10 for 4 tables in a chain (70 kB of
grammar, compiled in 50 ms); so `Limits.tables` is to be lowered where many tables hang together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.examples.query.literals import condition, whole_number
from services.examples.query.pieces import Piece, Rules, either, perhaps, row, said, several
from services.examples.query.schema import Choice, Column, Database, Day, Free, Key, Link, Money, Whole


@dataclass(frozen=True, slots=True)
class Source:
    """Tables that are asked together, and the keys that join them: one fewer than tables, and no circle."""

    tables: tuple[str, ...]
    links: frozenset[Link] = frozenset()

    @property
    def name(self) -> str:
        """Tells sources apart, also two that join the same tables along other keys."""
        return "__".join([*self.tables, *sorted(f"{link.child}__{link.column}" for link in self.links)])


def sources(database: Database) -> list[Source]:
    """Each table alone, then each set that can be joined along keys, within the limits."""
    found = [Source((table.name,)) for table in database.tables]
    for source in found:  # which grows meanwhile
        if len(source.tables) == database.limits.tables:
            continue
        for _, link, joined in _next(database, source.tables):
            tables = tuple(t.name for t in database.tables if t.name in (*source.tables, joined))
            wider = Source(tables, source.links | {link})
            if wider not in found:
                found.append(wider)
    return found


def compiled(database: Database) -> tuple[str, int]:
    """The grammar in llguidance's Lark, and its longest text in bytes."""
    maker = _Maker(database)
    start = either([maker.asked(source) for source in sources(database)])
    return maker.rules.lark(start), start.longest


class _Maker:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._limits = database.limits
        self.rules = Rules()

    def asked(self, source: Source) -> Piece:
        """Every query of one source."""
        limits, columns = self._limits, self._columns(source)
        where = perhaps(row(said(" WHERE "), self._where(source, columns)))
        tables = self.rules.named(f"tables_{source.name}", self._tables(source))
        end = self.rules.named(f"from_{source.name}", row(said(" FROM "), tables, where))
        any_one = self.rules.named(f"column_{source.name}", either([said(name) for name, _ in columns]))
        one_value = self.rules.named(f"value_{source.name}", either(_aggregates(columns)))
        values = self.rules.named(f"values_{source.name}", several(one_value, ", ", limits.columns))
        listed = row(
            perhaps(said("DISTINCT ")), several(any_one, ", ", limits.columns), end, self._order(any_one)
        )
        ways = [listed, row(values, end)]
        for name, column in columns:
            if not isinstance(column, Money):
                order = self._order(either([said(name), one_value]))
                ways.append(
                    row(
                        said(name),
                        perhaps(row(said(", "), values)),
                        end,
                        said(" GROUP BY "),
                        said(name),
                        order,
                    )
                )
        return self.rules.named(f"of_{source.name}", row(said("SELECT "), either(ways)))

    def _columns(self, source: Source) -> list[tuple[str, Column]]:
        """Every column by what it is called in a query of this source."""
        alone = len(source.tables) == 1
        return [
            (column.name if alone else f"{table}.{column.name}", column)
            for table in source.tables
            for column in self._database.table(table).columns
        ]

    def _where(self, source: Source, columns: Sequence[tuple[str, Column]]) -> Piece:
        ways = []
        for name, column in columns:
            # A plain name is of the one table; a whole one says its table, and is the same in all joins.
            rule = f"on_{name.replace('.', '__')}" if "." in name else f"on_{source.name}__{name}__alone"
            ways.append(self.rules.named(rule, condition(name, column, self._limits, self.rules)))
        found = single = self.rules.named(f"condition_{source.name}", either(ways))
        for depth in range(self._limits.depth + 1):
            if depth and self._limits.conditions > 1:
                inner = self._side_by_side(found, least=2)
                within = self.rules.named(f"bracket_{depth}_{source.name}", row(said("("), inner, said(")")))
                found = either([single, within])
        return self.rules.named(f"where_{source.name}", self._side_by_side(found, least=1))

    def _side_by_side(self, piece: Piece, least: int) -> Piece:
        """All with AND or all with OR: which of the two binds closer is never the question."""
        most = self._limits.conditions
        if most == 1:
            return piece
        joined = [several(piece, between, most, least=2) for between in (" AND ", " OR ")]
        return either([piece, *joined] if least == 1 else joined)

    def _order(self, piece: Piece) -> Piece:
        one = row(piece, perhaps(either([said(" ASC"), said(" DESC")])))
        by = row(said(" ORDER BY "), several(one, ", ", self._limits.orders))
        first = row(said(" LIMIT "), self.rules.named("first", whole_number(1, self._limits.rows)))
        return row(perhaps(by), perhaps(first))

    def _tables(self, source: Source) -> Piece:
        """The source in every order in which each table is joined to one before it."""
        return either(
            row(said(table), *steps)
            for table in source.tables
            for steps in self._joins((table,), source.links)
        )

    def _joins(self, said_so_far: tuple[str, ...], left: frozenset[Link]) -> Iterator[tuple[Piece, ...]]:
        if not left:
            yield ()
        for earlier, link, joined in _next(self._database, said_so_far):
            if link in left:
                mine, theirs = _ends(link, earlier)
                same = either(row(said(a), said(" = "), said(b)) for a, b in ((mine, theirs), (theirs, mine)))
                step = row(said(" JOIN "), said(joined), said(" ON "), same)
                for rest in self._joins((*said_so_far, joined), left - {link}):
                    yield (step, *rest)


def _next(database: Database, tables: Sequence[str]) -> Iterator[tuple[str, Link, str]]:
    """Tables that can be joined to these: by which of them, along which key, and their own name."""
    for link in database.links:
        for earlier, joined in ((link.child, link.parent), (link.parent, link.child)):
            if earlier in tables and joined not in tables:
                yield earlier, link, joined


def _ends(link: Link, earlier: str) -> tuple[str, str]:
    """The key's ends as columns, that of the `earlier` table first."""
    child, parent = f"{link.child}.{link.column}", f"{link.parent}.id"
    return (child, parent) if earlier == link.child else (parent, child)


def _aggregates(columns: Sequence[tuple[str, Column]]) -> Iterator[Piece]:
    yield said("COUNT(*)")
    for name, column in columns:
        if isinstance(column, Key | Day | Free | Choice):
            yield row(said("COUNT(DISTINCT "), said(name), said(")"))
        if isinstance(column, Whole | Money):
            yield from (row(said(f"{word}("), said(name), said(")")) for word in ("SUM", "AVG"))
        if isinstance(column, Whole | Money | Day):
            yield from (row(said(f"{word}("), said(name), said(")")) for word in ("MIN", "MAX"))
