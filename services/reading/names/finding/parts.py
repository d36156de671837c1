"""Words of names that are said without the rest of the name."""

from __future__ import annotations

from services.reading.chart.chart import Chart
from services.reading.chart.phrases import phrase_end
from services.reading.chart.resolve import settle
from services.reading.chart.span import PART, SHARED_PART, Span, found
from services.reading.chart.tokens import Utterance
from services.reading.language.language import Language
from services.reading.names.board import Board
from services.reading.names.lexicon import Lexicon

# A word that more names hold tells none of them.
MAX_SHARED = 8


def said_in_part(chart: Chart, lexicon: Lexicon) -> Chart:
    """Words of names without the rest of the name, where nothing else stands; alone they are a doubt."""
    covered = {i for span in chart.standing for i in span.core}
    parts = [p for p in _parts_of_names(lexicon.board, chart.words) if not covered & set(p.core)]
    return chart.standing_so([*chart.standing, *settle(parts)], parts)


def _parts_of_names(board: Board, tokens: Utterance) -> list[Span]:
    """A word that belongs to few names of the menu, said without the rest of the name. It names an item well
    when it is one item's last word: a muffin may be the blueberry muffin, but a banana is no banana bread."""
    parts: list[Span] = []
    led_to = _to_drink(tokens)
    for at, token in enumerate(tokens):
        if at in led_to or _tells_nothing(token.folded, tokens.language):
            continue
        phrases = [board.phrases[i] for i in board.by_word.get(token.folded, ())]
        refs = {phrase[1:] for phrase in phrases if phrase[1] != "size"}
        if not refs or len(refs) > MAX_SHARED:
            continue
        names_it = any(words[-1] == token.folded or kind == "option" for words, kind, *_ in phrases)
        score = PART if len(refs) == 1 and names_it else SHARED_PART
        parts += [found(tokens, (at,), ref, score, "part_of_name") for ref in sorted(refs)]
    return parts


def _to_drink(tokens: Utterance) -> set[int]:
    """Positions of words that say what is drunk with it: "to drink, a coke" is no frozen drink."""
    phrases = tokens.language.to_drink
    ends = ((at, phrase_end(tokens, at, phrases)) for at in range(len(tokens)))
    return {i for at, end in ends if end is not None for i in range(at, end)}


def _tells_nothing(word: str, said: Language) -> bool:
    """Whether a word stands for no name by itself: "heavy on the sugar" is no cream, "the last one plain" no
    plain candy, and "a side of ranch" no side salad."""
    return len(word) < 3 or word in said.function_words or word in said.halves or word in said.plain
