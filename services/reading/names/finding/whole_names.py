"""Names of a menu that are said whole: all their words, in order, with at most sizes or a choice between."""

from __future__ import annotations

from collections import defaultdict

from services.reading.chart.chart import Chart
from services.reading.chart.span import EXACT, GAPPED, found
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance
from services.reading.effort import charge
from services.reading.language.language import Language
from services.reading.names.board import Board, Words
from services.reading.names.lexicon import Lexicon

MAX_GAP = 2
LONG_CHOICE = 5  # words of the longest choice that is looked for inside a name


def said_whole(chart: Chart, lexicon: Lexicon) -> Chart:
    """Names whose words are all there, in order, with at most sizes or options between them."""
    board, tokens = lexicon.board, chart.words
    present = {token.folded for token in tokens}
    indexes = {i for word in present for i in board.by_word.get(word, ())}
    whole = []
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
                named = (kind, group, ref)
                if core[-1] - core[0] + 1 == len(core):
                    whole.append(found(tokens, core, named, EXACT, "whole_name"))
                else:
                    whole.append(found(tokens, core, named, GAPPED, "name_in_pieces"))
    return chart.competing(whole)


def _follow(board: Board, tokens: Utterance, words: Words, start: int) -> tuple[int, ...] | None:
    """Where the words of a name stand that begins at `start`; None where it is not said there."""
    core = [start]
    for word in words[1:]:
        at = _past_choice(board, tokens, core[-1] + 1, word)
        at = _next(board, tokens, core[-1], word) if at is None else at
        if at is None:
            return None
        core.append(at)
    return tuple(core)


def _next(board: Board, tokens: Utterance, last: int, word: str) -> int | None:
    """Where `word` stands after the token at `last`, with a few words of sizes and options between."""
    said = tokens.language
    for at in range(last + 1, min(last + MAX_GAP + 2, len(tokens))):
        before = tokens[at - 1]
        if before.after in SENTENCE_ENDS and not _is_abbreviation(before.folded, said):
            return None
        if tokens[at].folded == word:
            return at
        if tokens[last].folded in said.joints or tokens[last].folded.isdigit():
            return None  # "three small cheese pizzas"
        if not _may_be_skipped(board, tokens, at, last):
            return None
    return None


def _may_be_skipped(board: Board, tokens: Utterance, at: int, last: int) -> bool:
    """Whether the word at `at` may stand inside a name, after its word at `last`: "a turkey toasted club"."""
    between, said = tokens[at].folded, tokens.language
    if between in said.amounts:
        return False  # "kapsalon with extra cheese"
    if between.isdigit() and tokens[last].after:
        return False  # "gluten free, two thin crust"
    return between in board.qualifiers and between not in said.joints and not tokens[at].after


def _past_choice(board: Board, tokens: Utterance, start: int, word: str) -> int | None:
    """Where `word` stands past a choice of several words, said inside a name: "a bottle of the sweet and
    smoky sauce"."""
    start += start < len(tokens) and tokens[start].folded in tokens.language.definite_articles
    following = tuple(token.folded for token in tokens[start : start + LONG_CHOICE])
    choices = board.long_choices.get(following[0], ()) if following else ()
    charge(len(choices))
    for words in choices:
        end = start + len(words)
        if words != following[: len(words)] or end >= len(tokens) or tokens[end].folded != word:
            continue
        if not any(token.after for token in tokens[start - 1 : end]):
            return end
    return None


def _counts(board: Board, tokens: Utterance, core: tuple[int, ...]) -> bool:
    """Whether a name that is only "one" counts what follows: "one biscuit", where a single is called so
    too, or "a one piece", where there is A1 sauce."""
    end = core[-1] + 1
    said = tokens.language
    only = all(tokens[i].folded in said.indefinite_articles or tokens[i].folded in said.ones for i in core)
    return only and end < len(tokens) and not tokens[end - 1].after and tokens[end].folded in board.words


def _is_abbreviation(word: str, said: Language) -> bool:
    """ "No. 5" is one name, and no refusal; so are "St. Louis ribs" and a "B.L.T."."""
    return word in said.abbreviations or (len(word) == 1 and word.isalpha())
