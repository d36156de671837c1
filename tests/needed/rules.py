"""What can be taken away from the reading: each of its rules, found from the code.

A rule is a function of `services/reading` that can come to nothing: one that says no, finds none, makes
nothing or returns what it was given. Taken away, it always does. One that tells yes from no is two: it is
needed to say yes, and needed to say no. All other functions (what a word counts, where a name ends) are steps
of a rule, and not asked about.
"""

from __future__ import annotations

import ast
import copy
import tomllib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from infra.settings import REPOSITORY
from services.reading.names import lexicons

ROOM = REPOSITORY / "services" / "reading"
# Words are asked about by themselves; to count steps and to explain a reading changes none.
_NO_RULES = ("language/", "effort.py", "explained.py", "fates.py")
NOTED = "__noted__"
"""The name by which a function whose results are noted finds who notes them."""
_EMPTY = {list: "[]", set: "set()", frozenset: "frozenset()", dict: "{}", Mapping: "{}", Collection: "()"}


@dataclass(frozen=True)
class Rule:
    """A function, by its file and its name there; of one that tells yes from no, which it `says`."""

    entry: str
    name: str
    says: str = ""

    @property
    def shown(self) -> str:
        """As the report has it."""
        return f"{self.name} says {self.says}" if self.says else self.name


@dataclass(frozen=True)
class Body:
    """The function of a rule, its code, the code that is there without it, and which results are the same
    without it, as far as that can be told from the result. `noted` calls what `NOTED` has in its place."""

    function: FunctionType
    full: CodeType
    without: CodeType
    noted: CodeType
    idle: Callable[[Any], bool]


@cache
def staying() -> dict[Rule, str]:
    """Rules that stay though no order needs them, with the reason (`staying.toml`).

    Raises:
        ValueError: there is no such rule, so nothing that could stay.
    """
    written = tomllib.loads(Path(__file__).with_name("staying.toml").read_text(encoding="utf-8"))
    known = {(rule.entry, rule.shown): rule for rule in rules()}
    told = {(entry, shown): why for entry, names in written.items() for shown, why in names.items()}
    if gone := told.keys() - known:
        raise ValueError(f"no rules: {sorted(gone)}")
    return {known[one]: why for one, why in told.items()}


@cache
def rules() -> Mapping[Rule, Body]:
    """Every rule, file by file."""
    files = (file for file in sorted(ROOM.rglob("*.py")))
    named = ((file.relative_to(ROOM).as_posix(), file) for file in files)
    return {
        rule: body
        for name, file in named
        if not name.startswith(_NO_RULES)
        for rule, body in rules_of(name, file.read_text(), import_module(_module(file)))
    }


def rules_of(entry: str, source: str, module: ModuleType) -> Iterator[tuple[Rule, Body]]:
    """The rules of one module, in its order."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            yield from _of(entry, node, getattr(module, node.name), node.name)
        elif isinstance(node, ast.ClassDef):
            held = vars(getattr(module, node.name))
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("__"):
                    yield from _of(entry, inner, held[inner.name], f"{node.name}.{inner.name}")


@contextmanager
def read_without(gone: Iterable[Rule], *, menus: bool = True) -> Iterator[None]:
    """Within it every order is read without some rules; `menus` tells whether they matter to menus too."""
    bodies = [rules()[rule] for rule in gone]
    try:
        for body in bodies:
            body.function.__code__ = body.without
        if menus:
            lexicons._LEXICONS.clear()
        yield
    finally:
        for body in bodies:
            body.function.__code__ = body.full
        if menus:
            lexicons._LEXICONS.clear()


def _module(file: Path) -> str:
    return ".".join(file.relative_to(REPOSITORY).with_suffix("").parts)


def _of(entry: str, node: ast.FunctionDef, held: Any, name: str) -> Iterator[tuple[Rule, Body]]:
    """The rules of one function: none, one, or yes and no."""
    function = _function(held)
    if function is None or _is_declared(node):
        return
    yields = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node))
    noted = _code(node, f"return {NOTED}[{entry + name!r}]({', '.join(_given(node.args))})")
    for nothing, idle in _nothings(get_type_hints(function), yields=yields):
        says = "" if yields else {"False": "yes", "True": "no"}.get(nothing, "")
        without = _code(node, f"return {nothing}" + "\nyield" * yields)
        yield Rule(entry, name, says), Body(function, function.__code__, without, noted, idle)


def _given(args: ast.arguments) -> Iterator[str]:
    """How a function hands on all that it was given."""
    yield from (one.arg for one in [*args.posonlyargs, *args.args])
    yield from (f"*{one.arg}" for one in [args.vararg] if one)
    yield from (f"{one.arg}={one.arg}" for one in args.kwonlyargs)
    yield from (f"**{one.arg}" for one in [args.kwarg] if one)


def _code(node: ast.FunctionDef, body: str) -> CodeType:
    """The code of a function that has the same arguments and another body."""
    args = copy.deepcopy(node.args)
    for arg in ast.walk(args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    other = ast.FunctionDef(node.name, args, ast.parse(body).body, [])
    module = compile(ast.fix_missing_locations(ast.Module([other], [])), node.name, "exec")
    return next(one for one in module.co_consts if isinstance(one, CodeType))


def _function(held: Any) -> FunctionType | None:
    """What a module or class calls when it is asked for something that it holds."""
    if isinstance(held, property):
        held = held.fget
    elif isinstance(held, cached_property):
        held = held.func
    elif isinstance(held, classmethod | staticmethod):
        held = held.__func__
    return held if isinstance(held, FunctionType) else None


def _is_declared(node: ast.FunctionDef) -> bool:
    """Whether it only says which arguments there are, as a protocol does."""
    return all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in node.body)


def _nothings(hints: dict[str, Any], *, yields: bool) -> Iterator[tuple[str, Callable[[Any], bool]]]:
    """What a function of these types comes to where it finds nothing, as code, and which of its results are
    that; two of one that says yes or no, none of one that always has an answer."""
    returned = hints.pop("return")
    origin = get_origin(returned) or returned
    if yields:
        # What it yields is what it does; it may come to an answer too.
        answer = get_args(returned)[2] if origin is Generator else NoneType
        if answer is bool:
            yield "False", lambda result: result is None or result is False
        elif answer is NoneType or _may_be_none(answer):
            yield "None", lambda result: result is None
    elif returned is bool:
        yield "False", lambda result: result is False
        yield "True", lambda result: result is True
    elif returned is NoneType:
        yield "None", lambda result: False
    elif _may_be_none(returned):
        yield "None", lambda result: result is None
    elif given := [name for name, hint in hints.items() if hint == returned]:
        yield given[0], lambda result: False
    elif origin is Iterator:
        yield "iter(())", lambda result: False
    elif origin in _EMPTY or (origin is tuple and get_args(returned)[1:] == (...,)):
        yield _EMPTY.get(origin, "()"), lambda result: result is not None and not len(result)


def _may_be_none(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)
