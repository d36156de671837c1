"""Words of names that are said without the rest of the name."""

from __future__ import annotations

from services.reading.chart.resolve import PART, SHARED_PART, Found
from services.reading.chart.tokens import Utterance
from services.reading.language.language import Language
from services.reading.names.board import Board

# A word that more names hold tells none of them.
MAX_SHARED = 8


def parts_of_names(board: Board, tokens: Utterance) -> list[Found]:
    """A word that belongs to few names of the menu, said without the rest of the name. It names an item well
    when it is one item's last word: a muffin may be the blueberry muffin, but a banana is no banana bread."""
    found = []
    for at, token in enumerate(tokens):
        if _tells_nothing(token.folded, tokens.language):
            continue
        phrases = [board.phrases[i] for i in board.by_word.get(token.folded, ())]
        refs = {phrase[1:] for phrase in phrases if phrase[1] != "size"}
        if not refs or len(refs) > MAX_SHARED:
            continue
        names_it = any(words[-1] == token.folded or kind == "option" for words, kind, *_ in phrases)
        score = PART if len(refs) == 1 and names_it else SHARED_PART
        found += [Found(*ref, (at,), score, "part_of_name") for ref in sorted(refs)]
    return found


def _tells_nothing(word: str, said: Language) -> bool:
    """Whether a word stands for no name by itself: "heavy on the sugar" is no cream, "the last one plain" no
    plain candy, and "a side of ranch" no side salad."""
    return len(word) < 3 or word in said.function_words or word in said.halves or word in said.plain
