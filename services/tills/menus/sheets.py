"""Menus as tables: a spreadsheet, or CSV files, with items, options and what the menu itself has.

A table begins with a row of column names, known by them whatever sheet or file it stands in; several may
stand below each other. Lists in a cell are separated by `;`. A column `price large` has the prices of the
size "large"; `price large; grande` gives it an alias.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.menu import Item, Option, OptionGroup, spoken_key
from services.tills.menus.imported import Draft, Given, ImportedMenu

Row = tuple[str, ...]
KINDS = ("option", "name", "field")
"""The column by which a table of options, items, or fields of the menu is known, in this order."""
FIELDS = ("id", "name", "currency", "language", "time_zone", "ref")
ITEM_COLUMNS = tuple(
    "sku name aliases category groups available number description allergens diet tax ref".split()
)
OPTION_COLUMNS = tuple("group option aliases default min max each free halves available ref".split())
YES = {"yes": True, "y": True, "true": True, "x": True, "no": False, "n": False, "false": False}


@dataclass(frozen=True, slots=True)
class Cells:
    """One row of a table: its cells by column, and where it stands."""

    place: str
    values: Mapping[str, str]

    def text(self, column: str) -> str | None:
        return self.values.get(column) or None

    def list(self, column: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.values.get(column, "").split(";") if part.strip())

    def at(self, column: str) -> str:
        return f"{self.place}, column {column}"


def rows_of_xlsx(data: bytes) -> Iterator[tuple[str, Row]]:
    """(place, cells) of each row of a workbook. Raises ValueError for a file that isn't one."""
    import openpyxl  # a quarter of a second, which only spreadsheets are worth

    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    except Exception as error:  # of zip and XML: openpyxl has none of its own
        raise ValueError("it is a damaged spreadsheet: save it again as .xlsx, or as CSV") from error
    for sheet in book.worksheets:
        for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
            yield f"{sheet.title} row {number}", tuple(map(_written, row))


def rows_of_csv(text: str, name: str) -> Iterator[tuple[str, Row]]:
    """(place, cells) of each row; the separator is a comma, semicolon or tab, whichever the first row has."""
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    for number, row in enumerate(csv.reader(text.splitlines(), delimiter=separator), 1):
        yield f"{name} row {number}", tuple(cell.strip() for cell in row)


def is_header(row: Row) -> bool:
    columns = {cell.casefold() for cell in row}
    return any(need <= columns for need in ({"group", "option"}, {"name", "price"}, {"field", "value"}))


def read(rows: Sequence[tuple[str, Row]], name: str, given: Given) -> ImportedMenu:
    """Raises InvalidMenu for cells that aren't prices, yes or no."""
    tables: dict[str, list[Cells]] = {kind: [] for kind in KINDS}
    header: Row = ()
    for place, row in rows:
        if is_header(row):
            header = tuple(cell.casefold() for cell in row)
            kind = next(kind for kind in KINDS if kind in header)
        elif header and any(row):
            tables[kind].append(Cells(place, dict(zip(header, row, strict=False))))
    reader = _Reader(Draft(given, name=name))
    for cells in tables["field"]:
        reader.set_field(cells)
    reader.add_groups(tables["option"])
    for cells in tables["name"]:
        reader.add_item(cells)
    reader.lack_columns([*tables["name"], *tables["option"]])
    return reader.draft.finish()


@dataclass(slots=True)
class _Reader:
    draft: Draft

    def set_field(self, cells: Cells) -> None:
        """A field of the menu, or `tax NAME` with its rate in percent, such as 8.875 or `20 included`."""
        name, value = cells.values["field"], cells.values.get("value", "")
        if name.casefold().startswith("tax "):
            rate, _, included = value.partition(" ")
            self.draft.tax(rate.removesuffix("%"), included=bool(included), name=name[4:].strip())
        elif name in FIELDS:
            setattr(self.draft, name, value)
        else:
            self.draft.lack(cells.place, f"the field “{name}”")

    def add_groups(self, table: Sequence[Cells]) -> None:
        groups: dict[str, list[Cells]] = {}
        for cells in table:
            groups.setdefault(cells.values.get("group", ""), []).append(cells)
        for name, rows in groups.items():
            said = Cells(
                rows[0].place, {key: v for row in reversed(rows) for key, v in row.values.items() if v}
            )
            group = OptionGroup.model_construct(
                id="",
                name=name,
                min=self.number(said, "min") or 0,
                max=self.number(said, "max"),
                max_each=self.number(said, "each"),
                free=self.number(said, "free") or 0,
                halves=self.yes(said, "halves", otherwise=False),
                defaults=tuple(
                    row.text("ref") or row.values.get("option", "")
                    for row in rows
                    if self.yes(row, "default", otherwise=False)
                ),
                options=tuple(map(self.option, rows)),
            )
            self.draft.add_group(group, rows[0].place, name)

    def option(self, cells: Cells) -> Option:
        price, prices = self.prices(cells)
        return Option.model_construct(
            id="",
            name=cells.values.get("option", ""),
            aliases=cells.list("aliases"),
            price=price or 0,
            prices=prices,
            available=self.yes(cells, "available", otherwise=True),
            ref=cells.text("ref"),
        )

    def add_item(self, cells: Cells) -> None:
        price, prices = self.prices(cells)
        known = {spoken_key(group.name): group.id for group in self.draft.groups}
        taxes = {spoken_key(tax.name): tax.id for tax in self.draft.taxes}
        tax = cells.text("tax")
        item = Item.model_construct(
            sku=cells.values.get("sku", ""),
            name=cells.values.get("name", ""),
            aliases=cells.list("aliases"),
            category=cells.text("category") or "other",
            price=None if prices else price,
            prices=prices or None,
            option_groups=tuple(known.get(spoken_key(name), name) for name in cells.list("groups")),
            available=self.yes(cells, "available", otherwise=True),
            number=self.number(cells, "number"),
            description=cells.text("description"),
            allergens=cells.list("allergens"),
            diet=cells.list("diet"),
            tax=taxes.get(spoken_key(tax), tax) if tax else None,
            ref=cells.text("ref"),
        )
        for column in ITEM_COLUMNS:
            field = "option_groups" if column == "groups" else column
            self.draft.places[f"/items/{len(self.draft.items)}/{field}"] = cells.at(column)
        self.draft.add_item(item, cells.place)

    def prices(self, cells: Cells) -> tuple[int | None, dict[str, int]]:
        """The price, and those by size."""
        prices = {}
        for column, value in cells.values.items():
            if column.startswith("price ") and value:
                size, *aliases = (part.strip() for part in column.removeprefix("price ").split(";"))
                prices[self.draft.size(size, tuple(aliases))] = self.minor(value, cells.at(column))
        price = cells.text("price")
        return (self.minor(price, cells.at("price")) if price else None), prices

    def minor(self, value: str, place: str) -> int:
        """A price with or without the sign or name of a currency."""
        figure = re.fullmatch(r"[^\d.,-]*([\d.,-]*\d)[^\d.,-]*", value)
        return self.draft.minor(figure[1] if figure else value, place)

    def number(self, cells: Cells, column: str) -> int | None:
        value = cells.text(column)
        if value is None or value.isdecimal():
            return int(value) if value else None
        self.draft.problems.append((cells.at(column), f"“{value}” is not a whole number"))
        return None

    def yes(self, cells: Cells, column: str, *, otherwise: bool) -> bool:
        value = (cells.text(column) or "").casefold()
        if value and value not in YES:
            self.draft.problems.append((cells.at(column), f"“{value}” is neither yes nor no"))
        return YES.get(value, otherwise)

    def lack_columns(self, rows: Sequence[Cells]) -> None:
        found = {c: row for row in reversed(rows) for c, value in row.values.items() if value}
        for column, row in found.items():
            if column not in {"", *ITEM_COLUMNS, *OPTION_COLUMNS} and not column.startswith("price"):
                self.draft.lack(row.place, f"the column “{column}”")


def _written(value: object) -> str:
    """A cell as it is shown: a number without the noise of binary fractions."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else str(value).strip()


def xlsx(text: str) -> bytes:
    """A CSV file as a workbook, with a sheet for each of its tables."""
    import openpyxl  # as above

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    sheets = {"field": "menu", "name": "items", "option": "options"}
    for _, row in rows_of_csv(text, ""):
        if is_header(row):
            sheet = book.create_sheet(next(title for column, title in sheets.items() if column in row))
        if any(row):
            sheet.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()
