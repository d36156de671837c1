"""Menus as tables of items, options and menu fields, in a spreadsheet or CSV files.

A table is recognized by its row of column names, in any sheet or file; several may stand below each other.
Lists in a cell are separated by `;`. A column `price large` has the prices of the size "large";
`price large; grande` gives it an alias.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from schemas.menu import spoken_key
from services.tills.menus.draft import Draft, Part
from services.tills.menus.rows import Row
from services.tills.menus.source import ImportedMenu, Node, Overrides

SHEETS = {"option": "options", "name": "items", "field": "menu"}
"""The column by which a table is recognized, in this order, and the name of its sheet."""
FIELDS = ("id", "name", "currency", "language", "time_zone", "ref")
RATE = re.compile(r"([\d.,]+)\s*%?(?:\s+(included))?", re.IGNORECASE)
PRICE_IN_CURRENCY = re.compile(r"^price\s*(?:\([^)]*\)|[^\w\s]+)$")
"""Such as `price (usd)` or `price $`."""
YES = {"yes": True, "y": True, "true": True, "x": True, "no": False, "n": False, "false": False}


def _listed(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(";") if part.strip())


def _whole(cell: str) -> int:
    if not cell.isdecimal():
        raise ValueError(f"“{cell}” is not a whole number")
    return int(cell)


def _yes(cell: str) -> bool:
    if cell.casefold() not in YES:
        raise ValueError(f"“{cell}” is neither yes nor no")
    return YES[cell.casefold()]


ITEM = "sku name aliases category groups available number description allergens diet tax ref".split()
OPTION = "option aliases default available ref".split()
GROUP = "group min max each free halves".split()
PARSERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys("aliases groups allergens diet".split(), _listed),
    **dict.fromkeys("number min max each free".split(), _whole),
    **dict.fromkeys(("available", "halves", "default"), _yes),
}
"""Of columns whose cells aren't text."""
FIELD_OF = {"groups": "option_groups", "option": "name", "group": "name", "each": "max_each"}
"""Fields of columns with another name."""


@dataclass(frozen=True, slots=True)
class Cells:
    """One row of a table: its place in the file, and its cells by column."""

    place: str
    values: Mapping[str, str]

    def at(self, column: str) -> str:
        return f"{self.place}, column {column}"

    def places(self, path: str, columns: Iterable[str]) -> dict[str, str]:
        """Map the JSON pointer of what this row describes, and those of its fields, to their places."""
        return {path: self.place} | {f"{path}/{FIELD_OF.get(one, one)}": self.at(one) for one in columns}


def _columns(row: Row) -> Row:
    """Return the column names of a header: in lower case, a price without its currency, `item` as `name`."""
    columns = tuple(PRICE_IN_CURRENCY.sub("price", cell.casefold()) for cell in row)
    return columns if "name" in columns else tuple("name" if c == "item" else c for c in columns)


def is_header(row: Row) -> bool:
    """Return True if a row has the column names that a table needs."""
    columns = {"price" if column.startswith("price ") else column for column in _columns(row)}
    return any(need <= columns for need in ({"group", "option"}, {"name", "price"}, {"field", "value"}))


def _names_the_menu(row: Row, fields: list[Cells]) -> bool:
    """Return True for the first "name,Price Hill Chili" below other fields: not an item table's header."""
    is_name = row[0].casefold() == "name" and sum(map(bool, row)) == 2 and "price" not in _columns(row)
    return is_name and all(cells.values["field"].casefold() != "name" for cells in fields)


def _tables(rows: Iterable[tuple[str, Row]]) -> dict[str, list[Cells]]:
    """Return the rows of each kind of table, without headers."""
    tables: dict[str, list[Cells]] = {kind: [] for kind in SHEETS}
    header = Row()
    for place, row in rows:
        if is_header(row) and not ("field" in header and _names_the_menu(row, tables["field"])):
            header = _columns(row)
            table = next(tables[kind] for kind in SHEETS if kind in header)
        elif header and any(row):
            table.append(Cells(place, dict(zip(header, row, strict=False))))
    return tables


def read(rows: Iterable[tuple[str, Row]], name: str, overrides: Overrides) -> ImportedMenu:
    """Build a menu, called `name` where no table names it; raises InvalidMenu for cells of the wrong form."""
    tables = _tables(rows)
    fields = {cells.values.get("field", "").casefold(): cells for cells in tables["field"]}
    values = {field: fields[field].values.get("value", "") for field in FIELDS if field in fields}
    draft = Draft(Node(None), overrides.applied_to(values, name))
    draft.places |= {f"/{field}": fields[field].at("value") for field in values}
    for cells in tables["field"]:
        _add_field(draft, cells)
    _add_groups(draft, tables["option"])
    for cells in tables["name"]:
        _add_item(draft, cells)
    _skip_columns(draft, [*tables["name"], *tables["option"]])
    return draft.finish()


def _add_field(draft: Draft, cells: Cells) -> None:
    """Add a tax: `tax NAME` with its rate in percent, such as 8.875 or `20 included`."""
    name, value = cells.values.get("field", ""), cells.values.get("value", "")
    if name.casefold().startswith("tax "):
        rate = RATE.fullmatch(value)
        if rate is None:
            draft.source.problems.append((cells.at("value"), "must be a rate such as 8.875 or `20 included`"))
            return
        draft.places[f"/taxes/{len(draft.taxes)}"] = cells.at("value")
        draft.tax(rate[1], included=bool(rate[2]), name=name[4:].strip())
    elif name.casefold() not in FIELDS:
        draft.skip(cells.place, f"the field “{name}”")


def _add_groups(draft: Draft, table: Sequence[Cells]) -> None:
    nameless = [cells.at("group") for cells in table if not cells.values.get("group")]
    draft.source.problems.extend((place, "must not be empty") for place in nameless)
    groups: dict[str, list[Cells]] = {}
    for cells in table:
        groups.setdefault(spoken_key(cells.values.get("group", "")), []).append(cells)
    for rows in groups.values():
        _add_group(draft, rows)


def _add_group(draft: Draft, rows: Sequence[Cells]) -> None:
    # Any row may have a field of the whole group; the first that does counts.
    values = {key: value for row in reversed(rows) for key, value in row.values.items() if value}
    options = [_fields(draft, row, OPTION) | _prices(draft, row) for row in rows]
    defaults = [option for option in options if option.pop("default", False)]
    group_id = draft.add_group(
        rows[0].place,
        options=options,
        defaults=[option.get("ref") or option["name"] for option in defaults],
        charged=False,
        item="",
        **_fields(draft, Cells(rows[0].place, values), GROUP),
    )
    draft.group_places[group_id] |= rows[0].places("", GROUP)
    for number, row in enumerate(rows):
        draft.group_places[group_id] |= row.places(f"/options/{number}", (*OPTION, "price"))


def _add_item(draft: Draft, cells: Cells) -> None:
    fields, prices = _fields(draft, cells, ITEM), _prices(draft, cells)
    fields["option_groups"] = _ids(draft, cells, "groups", draft.groups.values())
    taxes = _ids(draft, cells, "tax", draft.taxes.values())
    if len(taxes) > 1:
        draft.source.problems.append((cells.at("tax"), "an item has one tax: add the rates up"))
    fields["tax"] = next(iter(taxes), None)
    draft.places |= cells.places(f"/items/{len(draft.items)}", (*ITEM, "price"))
    draft.add_item(cells.place, **fields, **prices)


def _ids(draft: Draft, cells: Cells, column: str, parts: Iterable[Part]) -> tuple[str, ...]:
    """Return the ids of the groups or taxes that a cell names."""
    ids = {spoken_key(part["name"]): part["id"] for part in parts}
    names = {spoken_key(name): name for name in _listed(cells.values.get(column, ""))}
    unknown = [name for key, name in names.items() if key not in ids]
    draft.source.problems.extend(
        (cells.at(column), f"no {column.removesuffix('s')} is called “{name}”") for name in unknown
    )
    return tuple(ids[key] for key in names if key in ids)


def _fields(draft: Draft, cells: Cells, columns: Iterable[str]) -> Part:
    """Return the fields of cells that aren't empty, and the name, which `Menu.read` refuses if it is."""
    fields: Part = {}
    for column in columns:
        value, field = cells.values.get(column, ""), FIELD_OF.get(column, column)
        try:
            if value or field == "name":
                fields[field] = PARSERS.get(column, str)(value)
        except ValueError as error:
            draft.source.problems.append((cells.at(column), str(error)))
    return fields


def _prices(draft: Draft, cells: Cells) -> Part:
    """Return the price, and those by size."""
    prices: dict[str, int] = {}
    for column, value in cells.values.items():
        what, _, sizes = column.partition(" ")
        if what == "price" and value:
            size, *aliases = map(str.strip, sizes.split(";"))
            # A currency's sign or name may stand next to the figure.
            figure = re.fullmatch(r"[^\d.,-]*([\d.,-]*\d)[^\d.,-]*", value)
            size_id = draft.size(size, aliases) if size else ""
            prices[size_id] = draft.minor(figure[1] if figure else value, cells.at(column))
    return {"price": prices.pop("", None), "prices": prices}


def _skip_columns(draft: Draft, rows: Sequence[Cells]) -> None:
    """List the columns that nothing reads, each with its first row."""
    first = {column: row for row in reversed(rows) for column, value in row.values.items() if value}
    for column, row in first.items():
        if column not in ("", *ITEM, *OPTION, *GROUP) and not column.startswith("price"):
            draft.skip(row.place, f"the column “{column}”")
