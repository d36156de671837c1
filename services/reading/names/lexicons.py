"""The lexicons of menus: each built once, and kept in memory for those that were used last."""

from __future__ import annotations

from infra.caches import Alike
from schemas.errors import InvalidMenu, TooMuchToRead
from schemas.menu import Menu
from schemas.menu_fingerprint import fingerprint, written_bytes
from services.reading.effort import MENU_STEPS, budget
from services.reading.language.language import known
from services.reading.names.lexicon import Lexicon

# A lexicon takes about twenty times what its menu's document does; a chain's shops have one together.
LEXICON_BYTES, _TIMES = 256_000_000, 20


def lexicon(menu: Menu) -> Lexicon:
    """The lexicon of a menu's names, built once for all menus with the same; the last used are kept. Whoever
    comes first does not pay for it: its steps are counted apart.

    Raises:
        TooMuchToRead: the menu's names are past `MENU_STEPS`.
    """
    known = _LEXICONS.of(menu)
    if isinstance(known, TooMuchToRead):
        # A new one: a raised error keeps the frames that it passed.
        raise TooMuchToRead(known.detail)
    return known


def check_names(menu: Menu) -> None:
    """Build the menu's lexicon once, to see that its names can be read; it is not kept.

    Raises:
        InvalidMenu: they are past `MENU_STEPS`, or in a language that has no words of ordering here.
    """
    if (code := menu.language[:2]) not in known():
        raise InvalidMenu(
            [("/language", f"orders in {code!r} can't be read; use one of: {', '.join(known())}")]
        )
    if isinstance(built := _built(menu), TooMuchToRead):
        raise InvalidMenu(
            [
                (
                    "/",
                    f"{built.detail}: too many of the names hold each other or end alike; "
                    "give them fewer words, or aliases",
                )
            ]
        )


def _built(menu: Menu) -> Lexicon | TooMuchToRead:
    try:
        with budget(MENU_STEPS, "the names of this menu"):
            return Lexicon(menu)
    except TooMuchToRead as error:
        return TooMuchToRead(error.detail)


# With what building one came to: the lexicon, or that it takes too much.
_LEXICONS = Alike(fingerprint, _built, lambda menu: _TIMES * written_bytes(menu), LEXICON_BYTES)
