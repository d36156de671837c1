"""No function is past reading: at most 15 decisions, and 60 lines from its name to its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.settings import REPOSITORY

FILES = sorted(
    file for room in ("schemas", "infra", "services") for file in (REPOSITORY / room).rglob("*.py")
)
MOST_DECISIONS, MOST_LINES = 15, 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


def decisions(function: ast.AST) -> int:
    """Branches, loops, conditions of either, and each `and` or `or` between them."""
    found = 1
    for node in ast.walk(function):
        branch = (
            ast.If | ast.For | ast.AsyncFor | ast.While | ast.IfExp | ast.ExceptHandler | ast.comprehension
        )
        found += isinstance(node, branch)
        found += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
        found += len(node.ifs) if isinstance(node, ast.comprehension) else 0
    return found


def past_reading(tree: ast.AST) -> Iterator[tuple[str, int, int]]:
    """Name, decisions and lines of each function with too many of either."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if decisions(node) > MOST_DECISIONS or lines > MOST_LINES:
                yield node.name, decisions(node), lines


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_no_function_is_past_reading(file: Path) -> None:
    found = {
        f"{file.relative_to(REPOSITORY)}:{name}": f"{many} decisions, {lines} lines"
        for name, many, lines in past_reading(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("body", "many"),
    [
        ("return 1", 1),
        ("if a and b or c: pass", 4),
        ("return [x for x in y if x if not z]", 4),
        ("try: pass\n except A: pass\n except B: pass", 3),
        ("async for a in b: return 1 if c else 2", 3),
        ("match a:\n  case 1: pass\n  case 2 if b or c: pass", 2),
    ],
)
def test_decisions_are_counted(body: str, many: int) -> None:
    assert decisions(ast.parse(f"async def f():\n {body}")) == many


def test_a_function_of_many_lines_is_told() -> None:
    tree = ast.parse("def f():\n" + " a()\n" * MOST_LINES)
    assert [*past_reading(tree)] == [("f", 1, MOST_LINES + 1)]
