"""Menus as tables: a spreadsheet, or CSV files, with items, options and what the menu itself has.

A table begins with a row of column names, known by them whatever sheet or file it stands in; several may
stand below each other. Lists in a cell are separated by `;`. A column `price large` has the prices of the
size "large"; `price large; grande` gives it an alias.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from schemas.menu import spoken_key
from services.tills.menus.imported import Draft, Given, ImportedMenu, new_option
from services.tills.menus.source import Node

Row = tuple[str, ...]
SHEETS = {"option": "options", "name": "items", "field": "menu"}
"""The column by which a table is known, in this order, and the name of its sheet."""
FIELDS = ("id", "name", "currency", "language", "time_zone", "ref")
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
READ: dict[str, Callable[[str], object]] = {
    **dict.fromkeys("aliases groups allergens diet".split(), _listed),
    **dict.fromkeys("number min max each free".split(), _whole),
    **dict.fromkeys(("available", "halves", "default"), _yes),
}
"""What reads the cells of a column; those of others are text."""
OURS = {"groups": "option_groups", "option": "name", "group": "name", "each": "max_each"}
"""Columns that have other names than our fields."""
# What a spreadsheet may have: a small file can unfold to gigabytes, and one cell can stand in row 1,048,576.
MAX_UNZIPPED, MAX_ROWS, MAX_COLUMNS = 50_000_000, 20_000, 250


@dataclass(frozen=True, slots=True)
class Cells:
    """One row of a table: its cells by column, and where it stands."""

    place: str
    values: Mapping[str, str]

    def at(self, column: str) -> str:
        return f"{self.place}, column {column}"


def rows_of_xlsx(data: bytes) -> list[tuple[str, Row]]:
    """(place, cells) of each row of a workbook. Raises ValueError for what isn't one, or too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            fits = sum(part.file_size for part in parts.infolist()) <= MAX_UNZIPPED
        rows = list(islice(_cells(data), MAX_ROWS + 1)) if fits else []
    except Exception as error:  # of zip and XML: openpyxl has none of its own
        raise ValueError("it is a damaged spreadsheet: save it again as .xlsx, or as CSV") from error
    if not fits or len(rows) > MAX_ROWS:
        raise ValueError(f"it is over {MAX_ROWS} rows or {MAX_UNZIPPED} bytes: delete what isn't the menu")
    return rows


def _cells(data: bytes) -> Iterator[tuple[str, Row]]:
    import openpyxl  # a quarter of a second, which only spreadsheets are worth

    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # which the file may overstate
        for number, row in enumerate(sheet.iter_rows(max_col=MAX_COLUMNS, values_only=True), 1):
            yield f"{sheet.title} row {number}", tuple(map(_written, row))


def _written(value: object) -> str:
    """A cell as it is shown: a number without the noise of binary fractions."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else str(value).strip()


def rows_of_csv(text: str, name: str) -> Iterator[tuple[str, Row]]:
    """(place, cells) of each row; the separator is a comma, semicolon or tab, whichever the first row has."""
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        for number, row in enumerate(csv.reader(text.splitlines(), delimiter=separator), 1):
            yield f"{name} row {number}", tuple(cell.strip() for cell in row)
    except csv.Error as error:
        raise ValueError(f"not CSV: {error}") from None


def xlsx(text: str) -> bytes:
    """A CSV file as a workbook, with a sheet for each of its tables."""
    import openpyxl  # as above

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for _, row in rows_of_csv(text, ""):
        if is_header(row):
            sheet = book.create_sheet(next(title for column, title in SHEETS.items() if column in row))
        if any(row):
            sheet.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def is_header(row: Row) -> bool:
    columns = {cell.casefold() for cell in row}
    return any(need <= columns for need in ({"group", "option"}, {"name", "price"}, {"field", "value"}))


def _tables(rows: Iterable[tuple[str, Row]]) -> dict[str, list[Cells]]:
    """The rows of each kind of table below their headers."""
    tables: dict[str, list[Cells]] = {kind: [] for kind in SHEETS}
    header: Row = ()
    for place, row in rows:
        if is_header(row):
            header = tuple(cell.casefold() for cell in row)
            table = next(tables[kind] for kind in SHEETS if kind in header)
        elif header and any(row):
            table.append(Cells(place, dict(zip(header, row, strict=False))))
    return tables


def read(rows: Iterable[tuple[str, Row]], name: str, given: Given) -> ImportedMenu:
    """Raises InvalidMenu for cells that aren't prices, yes or no."""
    tables = _tables(rows)
    fields = {cells.values["field"]: cells.values.get("value", "") for cells in tables["field"]}
    known = {field: value for field, value in fields.items() if field in FIELDS}
    draft = Draft(Node(None), given.over(known, name))
    for cells in tables["field"]:
        _add_field(draft, cells)
    _add_groups(draft, tables["option"])
    for cells in tables["name"]:
        _add_item(draft, cells)
    _lack_columns(draft, [*tables["name"], *tables["option"]])
    return draft.finish()


def _add_field(draft: Draft, cells: Cells) -> None:
    """`tax NAME` with its rate in percent, such as 8.875 or `20 included`; others are known already."""
    name, value = cells.values["field"], cells.values.get("value", "")
    if name.casefold().startswith("tax "):
        rate, _, included = value.partition(" ")
        draft.tax(rate.removesuffix("%"), included=bool(included), name=name[4:].strip())
    elif name not in FIELDS:
        draft.lack(cells.place, f"the field “{name}”")


def _add_groups(draft: Draft, table: Sequence[Cells]) -> None:
    groups: dict[str, list[Cells]] = {}
    for cells in table:
        groups.setdefault(cells.values.get("group", ""), []).append(cells)
    for name, rows in groups.items():
        # Any of its rows may say something of the whole group; the first that does counts.
        values = {key: value for row in reversed(rows) for key, value in row.values.items() if value}
        options = [_fields(draft, row, OPTION) | _prices(draft, row) for row in rows]
        defaults = [option for option in options if option.pop("default", False)]
        draft.add_group(
            rows[0].place,
            options=[new_option(**option) for option in options],
            defaults=[option.get("ref") or option["name"] for option in defaults],
            charged=False,
            item=name,
            **_fields(draft, Cells(rows[0].place, values), GROUP),
        )


def _add_item(draft: Draft, cells: Cells) -> None:
    fields, prices = _fields(draft, cells, ITEM), _prices(draft, cells)
    groups = {spoken_key(group.name): group.id for group in draft.groups.values()}
    taxes = {spoken_key(tax.name): tax.id for tax in draft.taxes.values()}
    named = fields.get("option_groups", ())
    fields["option_groups"] = tuple(groups.get(spoken_key(name), name) for name in named)
    fields["tax"] = taxes.get(spoken_key(fields.get("tax", "")), fields.get("tax"))
    if prices["prices"]:
        del prices["price"]
    for column in ITEM:
        draft.places[f"/items/{len(draft.items)}/{OURS.get(column, column)}"] = cells.at(column)
    draft.add_item(cells.place, **fields, **prices)


def _fields(draft: Draft, cells: Cells, columns: Iterable[str]) -> dict[str, Any]:
    """Our fields of the cells that aren't empty; a name may be, which `Menu.read` refuses."""
    found: dict[str, Any] = {}
    for column in columns:
        value, field = cells.values.get(column, ""), OURS.get(column, column)
        try:
            if value or field == "name":
                found[field] = READ.get(column, str)(value)
        except ValueError as error:
            draft.source.problems.append((cells.at(column), str(error)))
    return found


def _prices(draft: Draft, cells: Cells) -> dict[str, Any]:
    """The price, and those by size."""
    prices: dict[str, int] = {}
    for column, value in cells.values.items():
        what, _, sizes = column.partition(" ")
        if what == "price" and value:
            size, *aliases = map(str.strip, sizes.split(";"))
            # With or without the sign or name of a currency.
            figure = re.fullmatch(r"[^\d.,-]*([\d.,-]*\d)[^\d.,-]*", value)
            size_id = draft.size(size, tuple(aliases)) if size else ""
            prices[size_id] = draft.minor(figure[1] if figure else value, cells.at(column))
    return {"price": prices.pop("", None), "prices": prices}


def _lack_columns(draft: Draft, rows: Sequence[Cells]) -> None:
    found = {column: row for row in reversed(rows) for column, value in row.values.items() if value}
    known = {"", *ITEM, *OPTION, *GROUP}
    for column, row in found.items():
        if column not in known and not column.startswith("price"):
            draft.lack(row.place, f"the column “{column}”")
