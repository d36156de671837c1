"""One file changes what stands in an order while it is told (`reducer.py`), and makers have no state."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from infra.settings import REPOSITORY
from schemas.explanation import CHANGES, ChangeKind
from services.reading.clauses import changes
from services.reading.clauses.tally import Expected, Tally, Wish
from tests.carts import MENUS

CLAUSES = REPOSITORY / "services" / "reading" / "clauses"
FILES = sorted(file for file in CLAUSES.rglob("*.py") if file.name != "reducer.py")
MAKERS = [file for file in FILES if file.parent.name == "makers"]
KINDS = get_args(changes.Change)

_tally = {name for name in vars(Tally(MENUS["harbor-coffee"])) if not name.startswith("_")}
STATE = _tally | {field.name for cls in (Wish, Expected) for field in fields(cls)}
MUTATORS = {
    *("append", "extend", "insert", "remove", "pop", "popitem", "clear", "update", "setdefault", "add"),
    *("discard", "sort", "reverse", "difference_update", "intersection_update"),
    *("symmetric_difference_update", "__setattr__", "__setitem__", "__delitem__"),
}


def targets(node: ast.AST) -> list[ast.expr]:
    """What a statement assigns to or deletes, name by name."""
    match node:
        case ast.Assign(targets=found) | ast.Delete(targets=found):
            return [leaf for target in found for leaf in _leaves(target)]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            return _leaves(target)
        case ast.withitem(optional_vars=ast.expr() as target):
            return _leaves(target)
    return []


def _leaves(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [leaf for part in target.elts for leaf in _leaves(part)]
    return _leaves(target.value) if isinstance(target, ast.Starred) else [target]


def on_state(node: ast.AST) -> bool:
    """Whether an expression is `x.wishes`, `x.options[...]` and the like."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr in STATE


def mutations(tree: ast.AST) -> Iterator[int]:
    """Lines that change a tally or a line of it, whatever it is called there."""
    for node in ast.walk(tree):
        if any(on_state(target) for target in targets(node)):
            yield node.lineno  # type: ignore[attr-defined]
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in MUTATORS and on_state(called.value):
                yield node.lineno
            if isinstance(called, ast.Name) and called.id in ("setattr", "delattr"):
                yield node.lineno


def state(tree: ast.AST) -> Iterator[int]:
    """Lines that assign to an attribute of anything, but for what an `__init__` is given."""
    begins = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    given = {id(node) for function in begins for node in ast.walk(function)}
    for node in ast.walk(tree):
        attributes = [t for t in targets(node) if isinstance(t, ast.Attribute | ast.Subscript)]
        if attributes and id(node) not in given:
            yield node.lineno  # type: ignore[attr-defined]


def _without_beginnings(tree: ast.AST) -> ast.AST:
    """The tally's own file makes an empty one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Tally":
            node.body = [n for n in node.body if getattr(n, "name", "") != "__init__"]
    return tree


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CLAUSES)))
def test_only_the_reducer_changes_a_tally(file: Path) -> None:
    tree = _without_beginnings(ast.parse(file.read_text(encoding="utf-8")))
    assert not list(mutations(tree)), "make a change of it (changes.py), and let the reducer apply it"


@pytest.mark.parametrize("file", MAKERS, ids=lambda file: file.stem)
def test_makers_keep_nothing(file: Path) -> None:
    kept = list(state(ast.parse(file.read_text(encoding="utf-8"))))
    assert not kept, "what later clauses take up is expected of them (Expect)"


@pytest.mark.parametrize(
    "code",
    [
        "tally.focus = ()",
        "self._tally.group, x = (), 1",
        "wish.quantity -= 1",
        "del held[0].options[choice]",
        "wish.options[choice] = how",
        "self._tally.wishes.append(wish)",
        "line.options.pop(choice, None)",
        "for line.size in sizes: pass",
        "setattr(line, name, 1)",
    ],
)
def test_each_way_to_change_a_tally_is_seen(code: str) -> None:
    assert list(mutations(ast.parse(code))) == [1]
    assert list(mutations(ast.parse((CLAUSES / "reducer.py").read_text(encoding="utf-8"))))


def test_each_change_has_an_example_and_words() -> None:
    """A docstring begins with what a customer says; an explanation has words for it."""
    assert not [kind.__name__ for kind in KINDS if not (kind.__doc__ or "").lstrip().startswith('"')]
    told = {kind.__name__.lower() for kind in KINDS} - {"expect"}
    assert told == set(CHANGES) == set(get_args(ChangeKind))
