"""No function is past reading: at most 15 decisions, and 60 lines from its name to its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

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


def test_no_function_is_past_reading() -> None:
    found = {
        f"{file.relative_to(REPOSITORY)}:{name}": f"{many} decisions, {lines} lines"
        for file in FILES
        for name, many, lines in past_reading(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == {}
