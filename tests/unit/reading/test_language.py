"""Words as data: each entry says what it is for, and is shown at work by sentences that hold it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from schemas.compare import canonical
from schemas.errors import InvalidMenu, UnknownLanguage
from schemas.menu import Menu
from services.checks.one_cart import line_left, undoubted_cart
from services.decoding.short_form import Names
from services.reading.chart.tokens import fold, folded
from services.reading.language.language import FOLDER, Language, any_of, entries, known, language
from services.reading.names.lexicons import check_names
from services.reading.order import read_order
from services.training.notation import read_menu

MENUS = REPOSITORY / "infra" / "samples" / "menus"
NOTHING = "(?!)"  # a pattern that fits nowhere
TOLD = REPOSITORY / "tests" / "told" / "es"
# The menu that an example with a cart is said over, where it names none.
USUAL = {"en": "copper-skillet", "es": "cafe-sol"}


def written() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for code in known():
        for file in sorted((FOLDER / code).glob("*.toml")):
            for name, entry in entries(file).items():
                yield code, name, entry


ENTRIES = [pytest.param(*entry, id=f"{entry[0]}-{entry[1]}") for entry in written()]
SAID = [
    pytest.param(code, example, id=f"{code}-{name}-{example['said'][:40]}")
    for code, name, entry in written()
    for example in entry.get("examples", ())
    if isinstance(example, dict)
]


@cache
def menu(name: str) -> Menu:
    if (written := TOLD / f"{name}.menu").is_file():
        return read_menu(written)
    return Menu.parse(json.loads((MENUS / f"{name}.json").read_text(encoding="utf-8")))


def is_none(entry: Any) -> bool:
    """Whether a language has no such words: `about` says why, and the examples what it says instead."""
    return not entry or (isinstance(entry, re.Pattern) and entry.pattern == NOTHING)


def holds(said: str, entry: Any, words: Language) -> bool:
    """Whether one of an entry's words, phrases, endings, rules or its pattern is in a sentence."""
    written = tuple(re.findall(r"[\w%&]+", said.casefold().replace("'", "")))
    if isinstance(entry, str):
        return entry in written
    if isinstance(entry, Mapping) and all(len(letter) == 1 and letter.isalpha() for letter in entry):
        return any(letter in said for letter in entry)
    if isinstance(entry, re.Pattern):
        return any(entry.search(text) for text in (said, *said.split()))
    if isinstance(entry, tuple) and not isinstance(entry[0], tuple):
        endings = [one for one in entry if isinstance(one, str)]
        return said.endswith(tuple(endings)) or any(
            word.endswith(tuple(endings)) or any(rule.of(word) for rule in entry if not isinstance(rule, str))
            for word in said.split()
        )
    phrases = [one if isinstance(one, tuple) else tuple(one.split()) or (one,) for one in entry]
    return any(
        found[i : i + len(phrase)] == phrase
        for found in (folded(said, words), written)
        for phrase in phrases
        for i in range(len(found))
    )


@pytest.mark.parametrize(("code", "name", "entry"), ENTRIES)
def test_an_entry_says_what_it_is_for_and_its_examples_hold_it(
    code: str, name: str, entry: dict[str, Any]
) -> None:
    assert entry["about"]
    assert entry["examples"], "how is it said?"
    value = getattr(language(code), name)
    for example in entry["examples"]:
        said = example if isinstance(example, str) else example["said"]
        assert is_none(value) or holds(said, value, language(code)), said


@pytest.mark.parametrize("code", known())
@pytest.mark.parametrize(
    "name",
    "amounts asking each having joints only refusing refusing_all".split(),
)
def test_words_that_are_looked_for_are_written_folded(name: str, code: str) -> None:
    """ "Heaps" is looked for as "heap": written otherwise it is known, and never understood."""
    words = set(getattr(language(code), name))
    assert {fold(word, language(code)) for word in words} == words


@pytest.mark.parametrize(("code", "example"), SAID)
def test_an_example_with_a_cart_is_read_as_that_cart_and_accepted_but_for_a_doubt(
    code: str, example: dict[str, Any]
) -> None:
    over = menu(example.get("menu", USUAL[code]))
    evidence = read_order(example["said"], over, 1)
    if "means" in example:
        assert all(line.settled(over) for line in evidence.lines), "the words leave it open"
        lines = [line_left(line, over) for line in evidence.lines]
        assert canonical(lines) == canonical(Names(over).read(example["means"]))
    doubted = undoubted_cart(evidence) is None
    assert doubted is example.get("doubt", False), (
        "a human looks at it: a word of it may stand in another entry too, or be unknown"
        if doubted
        else "nobody looks at it any more: take `doubt` away"
    )


@pytest.mark.parametrize(
    "entry", [pytest.param(e, id=f"{code}-{name}") for code, name, e in written() if "patterns" in e]
)
def test_each_alternative_of_a_pattern_is_shown_by_an_example(entry: dict[str, Any]) -> None:
    said = [example if isinstance(example, str) else example["said"] for example in entry["examples"]]
    for one in entry["patterns"]:
        alone = re.compile("".join(any_of([one])), re.IGNORECASE)
        assert any(alone.search(text) for text in said), one


def test_a_language_without_a_folder_is_refused() -> None:
    with pytest.raises(UnknownLanguage) as refused:
        language("xx")
    assert "en" in refused.value.hint


def test_a_menu_in_such_a_language_is_refused_at_import_and_read_by_nobody() -> None:
    foreign = menu("harbor-coffee").model_copy(update={"language": "xx-XX"})
    with pytest.raises(InvalidMenu) as refused:
        check_names(foreign)
    assert refused.value.problems[0][0] == "/language"
    with pytest.raises(UnknownLanguage):
        read_order("a latte", foreign, 1)


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        ('[numbers]\nabout = "x"\nwords = "a"\nvalues = {}\n', "needs about, examples, and one of"),
        ('[numbers]\nabout = "x"\nwordz = "a"\n', "needs about, examples, and one of"),
        ('[nonsense]\nabout = "x"\nwords = "a"\n', "nonsense"),
    ],
)
def test_a_spoilt_entry_is_named(
    spoilt: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xx").mkdir()
    (tmp_path / "xx" / "numbers.toml").write_text(spoilt)
    monkeypatch.setattr("services.reading.language.language.FOLDER", tmp_path)
    with pytest.raises(ValueError, match=told):
        language("xx")
