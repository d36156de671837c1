"""What the reader is shown: the menu, the customer's words, and the names that retrieval found in them.

Where a second recognizer heard something else, its words follow the first one's.

The menu comes first and is the same for every order of a menu version, so that a server keeps it in its
cache. The reader is trained with this (`services/training`): a change here asks for new training.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.writable import writable
from services.decoding.short_form import Names
from services.retrieval.names import Name
from services.retrieval.retrieval import Match, Retrieval
from services.retrieval.words import english, words

TASK = "Take the order: write what the customer wants from this menu as cart JSON."


OR = "Or: "


def messages(menu_text: str, transcript: str, names: str = "", second: str = "") -> list[dict[str, str]]:
    """The chat of one order, whose answer is compact cart JSON; `names` is the line of `names_line`, `second`
    what another recognizer heard."""
    return [
        {"role": "system", "content": f"{TASK}\n\n{menu_text}"},
        {"role": "user", "content": turn(transcript, names, second)},
    ]


def turn(transcript: str, names: str = "", second: str = "") -> str:
    """The customer's turn of the chat: what was heard, `Or: ` what a second recognizer heard where it differs
    in more than case, punctuation and digits, and the names."""
    other = f"{OR}{writable(second)}" if second and _plain(second) != _plain(transcript) else ""
    return "\n".join(part for part in (writable(transcript), other, names) if part)


def _plain(text: str) -> list[str]:
    numbers = english().numbers
    return [str(numbers.get(word.folded, word.folded)) for word in words(text)]


def names_line(found: Retrieval, names: Names, second: Retrieval | None = None) -> str:
    """The menu's names in the words, those said whole first, and the numbers; empty where there are none.

    `Named: large; oat milk; Latte. Perhaps: Mocha. Numbers: 2`
    """
    whole = [written(name, names) for name in found.names(Match.WHOLE)]
    perhaps = [written(name, names) for name in guessed(found, second)]
    return line(whole, perhaps, [number.value for number in found.numbers])


def guessed(found: Retrieval, second: Retrieval | None = None) -> list[Name]:
    """The names that the customer may have said: those that a second transcript has whole, then those that
    the first has in part or misheard, then those that the second has so."""
    unsure = Match.PARTIAL, Match.MISHEARD
    if second is None:
        return list(found.names(*unsure))
    return [*second.names(Match.WHOLE), *found.names(*unsure), *second.names(*unsure)]


def line(named: Iterable[str], perhaps: Iterable[str], numbers: Iterable[int]) -> str:
    """The same from its parts."""
    whole = list(dict.fromkeys(named))
    others = [name for name in dict.fromkeys(perhaps) if name not in whole]
    parts = (("Named", whole), ("Perhaps", others), ("Numbers", [str(n) for n in numbers]))
    return ". ".join(f"{head}: {'; '.join(values)}" for head, values in parts if values)


def written(name: Name, names: Names) -> str:
    """A name as the answer spells it."""
    if name.kind == "item":
        return names.items[name.id]
    if name.kind == "size":
        return names.sizes[name.id]
    return writable(name.text)
