"""The rows of a spreadsheet or a CSV file, as the text that a spreadsheet shows."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import Any

Row = tuple[str, ...]
# Limits of a spreadsheet: a small file can unzip to gigabytes, and one cell can be in row 1,048,576.
MAX_UNZIPPED, MAX_ROWS, MAX_COLUMNS = 50_000_000, 20_000, 250


def rows_of_xlsx(data: bytes) -> list[tuple[str, Row]]:
    """Return (place, cells) of each row of a workbook; raises ValueError if it is damaged or too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            fits = sum(part.file_size for part in parts.infolist()) <= MAX_UNZIPPED
        rows = list(islice(_cells(data), MAX_ROWS + 1)) if fits else []
    except Exception as error:  # from zip and XML: openpyxl defines none of its own
        raise ValueError("it is a damaged spreadsheet: save it again as .xlsx, or as CSV") from error
    if not fits or len(rows) > MAX_ROWS:
        raise ValueError(f"it is over {MAX_ROWS} rows or {MAX_UNZIPPED} bytes: delete what isn't the menu")
    return rows


def _cells(data: bytes) -> Iterator[tuple[str, Row]]:
    import openpyxl  # takes a quarter of a second

    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # the file may overstate them
        for number, row in enumerate(sheet.iter_rows(max_col=MAX_COLUMNS), 1):
            yield f"{sheet.title} row {number}", tuple(map(_text, row))


def _text(cell: Any) -> str:
    """Return a cell as a spreadsheet shows it: percentages, numbers without the noise of fractions."""
    value = cell.value
    if type(value) in (int, float) and "%" in str(getattr(cell, "number_format", "")):
        return f"{value * 100:.15g}%"
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else str(value).strip()


def rows_of_csv(text: str, name: str) -> Iterator[tuple[str, Row]]:
    """Yield (place, cells) of each row; the first row shows whether commas, semicolons or tabs separate."""
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=separator), 1):
            yield f"{name} row {number}", tuple(" ".join(cell.split()) for cell in row)
    except csv.Error as error:
        raise ValueError(f"not CSV: {error}") from None
