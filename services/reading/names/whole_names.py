"""Names of a menu that are said whole: all their words, in order, with at most sizes or a choice between."""

from __future__ import annotations

from collections import defaultdict

from services.reading.chart.resolve import EXACT, GAPPED, Found
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance
from services.reading.effort import charge
from services.reading.language.english import AMOUNTS, JOINTS
from services.reading.names.board import Board

_ABBREVIATIONS = frozenset("no st dr mr mrs ms".split())
MAX_GAP = 2
LONG_CHOICE = 5  # words of the longest choice that is looked for inside a name


def said_whole(board: Board, tokens: Utterance) -> list[Found]:
    """Names whose words are all there, in order, with at most sizes or options between them."""
    present = {token.folded for token in tokens}
    indexes = {i for word in present for i in board.by_word.get(word, ())}
    found = []
    places: dict[str, list[int]] = defaultdict(list)
    for i, token in enumerate(tokens):
        places[token.folded].append(i)
    charge(len(indexes))
    for index in sorted(indexes):
        words, kind, group, ref = board.phrases[index]
        if not present.issuperset(words):
            continue
        charge(len(places[words[0]]) * len(words))
        for start in places[words[0]]:
            core = _follow(board, tokens, words, start)
            if core is not None and not _counts(board, tokens, core):
                gapless = core[-1] - core[0] + 1 == len(core)
                if gapless:
                    found.append(Found(kind, group, ref, core, EXACT, "whole_name"))
                else:
                    found.append(Found(kind, group, ref, core, GAPPED, "name_in_pieces"))
    return found


def _follow(board: Board, tokens: Utterance, words: tuple[str, ...], start: int) -> tuple[int, ...] | None:
    core = [start]
    for word in words[1:]:
        if (at := _past_choice(board, tokens, core[-1] + 1, word)) is not None:
            core.append(at)
            continue
        for step in range(1, MAX_GAP + 2):
            at = core[-1] + step
            # "No. 5" is one name, and no refusal; so are "St. Louis ribs" and a "B.L.T.".
            ended = at <= len(tokens) and tokens[at - 1].after in SENTENCE_ENDS
            if at >= len(tokens) or (ended and not _is_abbreviation(tokens[at - 1].folded)):
                return None
            if tokens[at].folded == word:
                core.append(at)
                break
            between = tokens[at].folded
            skipped = between in board.qualifiers and between not in JOINTS
            # "Gluten free, two thin crust", "kapsalon with extra cheese", "three small cheese pizzas".
            if between in AMOUNTS or (between.isdigit() and tokens[core[-1]].after):
                return None
            if tokens[core[-1]].folded in JOINTS or tokens[core[-1]].folded.isdigit():
                return None
            if step > MAX_GAP or not skipped or tokens[at].after:
                return None
        else:
            return None
    return tuple(core)


def _past_choice(board: Board, tokens: Utterance, start: int, word: str) -> int | None:
    """Where `word` stands past a choice of several words, said inside a name: "a bottle of the sweet and
    smoky sauce"."""
    start += start < len(tokens) and tokens[start].folded == "the"
    said = tuple(token.folded for token in tokens[start : start + LONG_CHOICE])
    choices = board.long_choices.get(said[0], ()) if said else ()
    charge(len(choices))
    for words in choices:
        end = start + len(words)
        if words != said[: len(words)]:
            continue
        if [t.folded for t in tokens[end : end + 1]] == [word] and not any(
            t.after for t in tokens[start - 1 : end]
        ):
            return end
    return None


def _counts(board: Board, tokens: Utterance, core: tuple[int, ...]) -> bool:
    """Whether a name that is only "one" counts what follows: "one biscuit", where a single is called so
    too, or "a one piece", where there is A1 sauce."""
    end = core[-1] + 1
    only = {tokens[i].folded for i in core} <= {"a", "1"}
    return only and end < len(tokens) and not tokens[end - 1].after and tokens[end].folded in board.words


def _is_abbreviation(word: str) -> bool:
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())
