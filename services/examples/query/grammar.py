"""A database's description -> the grammar of all queries about it, and the longest of them.

There is one branch for each set of tables that can be joined, and in it only their columns can be said:
`table.column`, or plain where only one of the tables has such a column. A grouped query selects the column
that it is grouped by, since each such column is a branch as well. No query writes: there is no statement but
SELECT.

A mask that allows only one of two spellings decides more than spelling: a model that has begun with the other
is led elsewhere, to other tables. `one_spelling` makes that grammar as well, to be compared.

Cost: there are as many branches as connected parts of the keys' graph, 10 for 4 tables in a chain (70 kB of
grammar, compiled in 50 ms); so `Limits.tables` is to be lowered where many tables hang together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.examples.query.literals import condition, whole_number
from services.examples.query.pieces import Piece, Rules, either, perhaps, row, said, several
from services.examples.query.schema import Choice, Column, Database, Day, Free, Key, Link, Money, Whole

# A column as it may be called, a name for rules about it, and itself.
_Called = tuple[Piece, str, Column]


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


def compiled(database: Database, *, one_spelling: bool = False) -> tuple[str, int]:
    """The grammar in llguidance's Lark, and its longest text in bytes.

    With `one_spelling` a column is plain where one table is asked, and `table.column` where several are; else
    either will do, and functions may be written small.
    """
    maker = _Maker(database, one_spelling)
    start = either([maker.asked(source) for source in sources(database)])
    return maker.rules.lark(start), start.longest


class _Maker:
    def __init__(self, database: Database, one_spelling: bool) -> None:
        self._database = database
        self._one_spelling = one_spelling
        self._limits = database.limits
        self.rules = Rules()

    def asked(self, source: Source) -> Piece:
        """Every query of one source."""
        limits, columns = self._limits, self._columns(source)
        where = perhaps(row(said(" WHERE "), self._where(source, columns)))
        tables = self.rules.named(f"tables_{source.name}", self._tables(source))
        end = self.rules.named(f"from_{source.name}", row(said(" FROM "), tables, where))
        any_one = self.rules.named(f"column_{source.name}", either([name for name, _, _ in columns]))
        one_value = self.rules.named(f"value_{source.name}", either(_aggregates(columns, self._one_spelling)))
        values = self.rules.named(f"values_{source.name}", several(one_value, ", ", limits.columns))
        listed = row(
            perhaps(said("DISTINCT ")), several(any_one, ", ", limits.columns), end, self._order(any_one)
        )
        ways = [listed, row(values, end)]
        for name, _, column in columns:
            if not isinstance(column, Money):
                order = self._order(either([name, one_value]))
                more = perhaps(row(said(", "), values))
                ways.append(row(name, more, end, said(" GROUP BY "), name, order))
        return self.rules.named(f"of_{source.name}", row(said("SELECT "), either(ways)))

    def _columns(self, source: Source) -> list[_Called]:
        """Every column by what it may be called in a query of this source, and a name for rules about it."""
        found = []
        every = [(name, column) for name in source.tables for column in self._database.table(name).columns]
        plain = Counter(column.name for _, column in every)
        for table, column in every:
            whole, alone = f"{table}.{column.name}", len(source.tables) == 1
            if self._one_spelling:
                name, rule = said(column.name if alone else whole), f"{table}__{column.name}"
                rule = f"{source.name}__{column.name}__alone" if alone else rule
            elif plain[column.name] == 1:
                name, rule = either([said(column.name), said(whole)]), f"{table}__{column.name}__either"
            else:
                name, rule = said(whole), f"{table}__{column.name}"
            found.append((name, rule, column))
        return found

    def _where(self, source: Source, columns: Sequence[_Called]) -> Piece:
        ways = []
        for name, rule, column in columns:
            ways.append(self.rules.named(f"on_{rule}", condition(name, column, self._limits, self.rules)))
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


def _aggregates(columns: Sequence[_Called], one_spelling: bool) -> Iterator[Piece]:
    def call(word: str, name: Piece, before: str = "") -> Piece:
        spelled = [said(f"{word}({before}"), said(f"{word.lower()}({before}")]
        return row(spelled[0] if one_spelling else either(spelled), name, said(")"))

    yield said("COUNT(*)") if one_spelling else either([said("COUNT(*)"), said("count(*)")])
    for name, _, column in columns:
        if isinstance(column, Key | Day | Free | Choice):
            yield call("COUNT", name, "DISTINCT ")
        if isinstance(column, Whole | Money):
            yield from (call(word, name) for word in ("SUM", "AVG"))
        if isinstance(column, Whole | Money | Day):
            yield from (call(word, name) for word in ("MIN", "MAX"))
