"""Tables as Markdown."""

from __future__ import annotations


def markdown(table: list[list[str]]) -> str:
    """Return the table, whose first row is its head."""
    rows = ["| " + " | ".join(row) + " |" for row in table]
    return "\n".join([rows[0], "|" + "---|" * len(table[0]), *rows[1:]]) + "\n"
