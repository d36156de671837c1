"""What the reader is shown: the menu, the customer's words, and the names that retrieval found in them.

The menu comes first and is the same for every order of a menu version, so that a server keeps it in its
cache. The reader is trained with this (`services/training`): a change here asks for new training.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.writable import writable
from services.engines.reader.short_form import Names
from services.retrieval.names import Name
from services.retrieval.retrieval import Match, Retrieval

TASK = "Take the order: write what the customer wants from this menu as cart JSON."


def messages(menu_text: str, transcript: str, names: str = "") -> list[dict[str, str]]:
    """The chat of one order, whose answer is compact cart JSON; `names` is the line of `names_line`."""
    said = writable(transcript)
    return [
        {"role": "system", "content": f"{TASK}\n\n{menu_text}"},
        {"role": "user", "content": f"{said}\n{names}" if names else said},
    ]


def names_line(found: Retrieval, names: Names) -> str:
    """The menu's names in the words, those said whole first, and the numbers; empty where there are none.

    `Named: large; oat milk; Latte. Perhaps: Mocha. Numbers: 2`
    """
    whole = [written(name, names) for name in found.names(Match.WHOLE)]
    perhaps = [written(name, names) for name in found.names(Match.PARTIAL, Match.MISHEARD)]
    return line(whole, perhaps, [number.value for number in found.numbers])


def line(named: Iterable[str], perhaps: Iterable[str], numbers: Iterable[int]) -> str:
    """The same from its parts."""
    whole = list(dict.fromkeys(named))
    guessed = [name for name in dict.fromkeys(perhaps) if name not in whole]
    parts = (("Named", whole), ("Perhaps", guessed), ("Numbers", [str(n) for n in numbers]))
    return ". ".join(f"{head}: {'; '.join(values)}" for head, values in parts if values)


def written(name: Name, names: Names) -> str:
    """A name as the answer spells it."""
    if name.kind == "item":
        return names.items[name.id]
    if name.kind == "size":
        return names.sizes[name.id]
    return writable(name.text)
