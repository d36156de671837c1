"""The house of understanding: mechanisms name no word of a language."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from infra.settings import REPOSITORY
from services.reading.chart.tokens import folded
from services.reading.language.language import FOLDER, entries, known, language

READING = REPOSITORY / "services" / "reading"
MECHANISMS = sorted(file for file in READING.rglob("*.py") if FOLDER not in file.parents)
# Names of ours that happen to be words of a language: kinds of mentions, places in a cart, and a rule.
OURS = {"item", "option", "size", "number", "line", "guess"}
TOLD = {"budget", "ContextVar", "InvalidMenu"}


def words_of(code: str) -> set[str]:
    """Every word of a language's entries, but for patterns."""
    found: set[str] = set()
    for file in (FOLDER / code).glob("*.toml"):
        for name in entries(file):
            value = getattr(language(code), name)
            if isinstance(value, frozenset | dict | tuple):
                for one in value:
                    found |= (
                        set(one.split())
                        if isinstance(one, str)
                        else set(one if isinstance(one, tuple) else ())
                    )
    return found


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """String constants that are no docstring, no annotation, no key of an update, and no value of an enum."""
    for node in ast.walk(tree):
        skipped: list[ast.AST] = []
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            skipped.append(node.body[0])
        if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases):
            skipped += node.body
        if isinstance(node, ast.keyword) and node.arg == "update" and isinstance(node.value, ast.Dict):
            skipped += [key for key in node.value.keys if key is not None]
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
            skipped.append(node.slice)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.append(node)
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and ast.unparse(node.func) in TOLD):
            skipped.append(node)  # a sentence for whoever reads the error
        for gone in skipped:
            for child in ast.walk(gone):
                child.skipped = True  # type: ignore[attr-defined]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not hasattr(node, "skipped"):
            yield node


def test_a_mechanism_names_no_word_of_a_language() -> None:
    """Words are data (`language/`): what a mechanism looks for it takes from its utterance's language."""
    known_words = set().union(*(words_of(code) for code in known())) - OURS
    named = {
        f"{file.relative_to(READING)}:{node.lineno}: {node.value!r}"
        for file in MECHANISMS
        for node in strings(ast.parse(file.read_text(encoding="utf-8")))
        if not node.value.startswith(("\\", "[\\")) and set(folded(node.value, language("en"))) & known_words
    }
    assert not named, "\n".join(sorted(named))
