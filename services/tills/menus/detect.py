"""Recognize a menu file by its content, and read it: our document, tables, or the menu of a till."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from html import unescape
from pathlib import PurePath

from schemas.errors import InputError
from services.tills.menus import schema_org, sheets, square, toast, uber
from services.tills.menus.rows import Row, rows_of_csv, rows_of_xlsx
from services.tills.menus.source import ImportedMenu, Overrides

# Bounded, and searched once for each script's end, so that the time is linear in a page's length.
_LINKED = re.compile(r"<script[^>]{0,200}application/ld\+json[^>]{0,200}>", re.IGNORECASE)
_END = re.compile("</script", re.IGNORECASE)


def read_menu(files: Sequence[tuple[str, bytes]], overrides: Overrides) -> ImportedMenu:
    """Read a menu from files, by name and content, in any known format; several are tables of one menu.

    Raises:
        InputError: a file has no known format.
        InvalidMenu: it has one, with a wrong shape or wrong cells; places are those in the file.
    """
    rows: list[tuple[str, Row]] = []
    for file, data in files:
        try:
            result = _read(file, data, overrides)
        except UnicodeDecodeError:
            raise _no_menu(
                file, "it is neither a spreadsheet (.xlsx) nor UTF-8 text, such as “CSV UTF-8”"
            ) from None
        except RecursionError:
            raise _no_menu(file, "it is nested too deeply") from None
        except json.JSONDecodeError as error:
            place = f"{error.msg} at line {error.lineno}, column {error.colno}"
            raise _no_menu(file, f"not JSON: {place}") from None
        except ValueError as error:
            raise _no_menu(file, str(error)) from None
        if isinstance(result, ImportedMenu):
            return result
        rows += result
    if not any(sheets.is_header(row) for _, row in rows):
        raise _no_menu(
            files[0][0], "it is neither JSON nor a table with a column `name` and a column `price`"
        )
    return sheets.read(rows, PurePath(files[0][0]).stem, overrides)


def _read(file: str, data: bytes, overrides: Overrides) -> ImportedMenu | list[tuple[str, Row]]:
    """Return the menu of JSON or a web page; the rows of a spreadsheet or any other text."""
    if data.startswith(b"PK\x03\x04"):
        return rows_of_xlsx(data)
    text = data.decode("utf-8-sig")
    if text.lstrip().startswith("<"):
        linked = [part[start.end() :] for part in _END.split(text)[:-1] if (start := _LINKED.search(part))]
        text = f"[{','.join(map(unescape, linked))}]"
    if not text.lstrip().startswith(("{", "[")):
        return list(rows_of_csv(text, file))
    document = json.loads(text)
    if (reader := _reader(document)) is not None:
        return reader(json.loads(text, parse_float=Decimal), overrides)
    document = overrides.applied_to(document) if isinstance(document, dict) else {}
    if isinstance(document.get("id"), str):
        return ImportedMenu(document)
    raise _no_menu(file, "it has no `id`, and isn't from a known till")


def _reader(document: object) -> Callable[[object, Overrides], ImportedMenu] | None:
    first = document[0] if isinstance(document, list) and document else document
    if not isinstance(first, dict):
        return None
    if {"@context", "@type", "@graph"} & first.keys():
        return schema_org.read
    if "modifierGroupReferences" in first or "restaurantGuid" in first:
        return toast.read
    if "modifier_groups" in first or {"items", "categories", "menus"} <= first.keys():
        return uber.read
    return square.read if {"objects", "related_objects"} & first.keys() else None


def _no_menu(file: str, why: str) -> InputError:
    hint = "docs/menu-file.md has the formats; `saycart menu template` prints a menu to start from."
    return InputError(f"{file} is not a menu: {why}", hint=hint)
