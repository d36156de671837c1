"""Functions have at most 10 decisions and 40 lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from infra.settings import REPOSITORY

FILES = sorted(
    file for room in ("schemas", "infra", "services") for file in (REPOSITORY / room).rglob("*.py")
)
MOST_DECISIONS, MOST_LINES = 10, 40
DECISIONS = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.IfExp, ast.ExceptHandler),
    *(ast.comprehension, ast.BoolOp, ast.Match),
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def decisions(function: ast.AST) -> int:
    """Count branches, loops and compound conditions."""
    return sum(isinstance(node, DECISIONS) for node in ast.walk(function))


def too_complex(tree: ast.AST) -> Iterator[tuple[str, int, int]]:
    """Yield name, decisions and lines of each function that exceeds a limit."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if decisions(node) > MOST_DECISIONS or lines > MOST_LINES:
                yield node.name, decisions(node), lines


def test_no_function_is_too_complex() -> None:
    found = {
        f"{file.relative_to(REPOSITORY)}:{name}": f"{many} decisions, {lines} lines"
        for file in FILES
        for name, many, lines in too_complex(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == {}
