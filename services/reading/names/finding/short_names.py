"""Short forms of names, said in one piece."""

from __future__ import annotations

from services.reading.chart.chart import Chart
from services.reading.chart.span import SHORT, found
from services.reading.chart.tokens import PAUSES, Utterance
from services.reading.names.lexicon import Lexicon


def said_short(chart: Chart, lexicon: Lexicon) -> Chart:
    """Names said in a short form that can mean one thing only: "a muffin" is the blueberry muffin.

    What leaves out the sort of thing may be a part of another one beside it: "with turkey", "a turkey club".
    """
    tokens, shorts = chart.words, []
    for start, token in enumerate(tokens):
        for words, kind, group, ref, bare in lexicon.board.shorts.get(token.folded, ()):
            end = start + len(words)
            if tuple(t.folded for t in tokens[start:end]) != words:
                continue
            if any(t.after in PAUSES for t in tokens[start : end - 1]):
                continue
            if bare and kind == "item" and _is_of_another(tokens, start, end, lexicon):
                continue
            core = tuple(range(start, end))
            shorts.append(found(tokens, core, (kind, group, ref), SHORT, "short_name"))
    return chart.competing(shorts)


def _is_of_another(tokens: Utterance, start: int, end: int, lexicon: Lexicon) -> bool:
    """Whether what stands beside a short form may be what it belongs to."""
    return _is_led_into(tokens, start) or _leads_to_thing(tokens, end, lexicon)


def _is_led_into(tokens: Utterance, start: int) -> bool:
    """Whether what follows is something on or in a thing, and no thing: "with turkey"."""
    if not start or tokens[start - 1].after:
        return False
    before, said = tokens[start - 1].folded, tokens.language
    return before in said.belonging or before in said.amounts or before in said.into_things


def _leads_to_thing(tokens: Utterance, end: int, lexicon: Lexicon) -> bool:
    """Whether a thing follows: "a turkey club", where the club may be a sandwich or unknown."""
    if end == len(tokens) or tokens[end - 1].after:
        return False
    word, said = tokens[end].folded, tokens.language
    if word in said.function_words or word in said.measures or word.isdigit():
        return False
    return bool(lexicon.items(word)) or not (word in lexicon.words or word in lexicon.generic)
