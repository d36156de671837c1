"""How the tests stand to each other: what checks the product needs no benchmark."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
MEASURE = {"bench", "load"}
FILES = [path.relative_to(TESTS) for path in sorted(TESTS.rglob("*.py"))]


def imports(file: Path) -> set[str]:
    """Modules that a file under tests/ names in any import."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((TESTS / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def of_benchmarks(file: Path) -> list[str]:
    return sorted(name for name in imports(file) if f"{name}.".startswith("tests.bench."))


def test_the_reader_sees_what_there_is() -> None:
    """A reader that finds nothing would pass everything."""
    assert of_benchmarks(Path("bench/checks/test_bench_lent.py"))
    assert len(FILES) > 300


def test_what_checks_the_product_needs_no_benchmark() -> None:
    wrong = {str(file): of_benchmarks(file) for file in FILES if file.parts[0] not in MEASURE}
    assert not {file: names for file, names in wrong.items() if names}
