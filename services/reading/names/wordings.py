"""Words in another form than the menu's: what is done to an item as a verb ("toast them both"), and a number
that was written as another word ("a too scoop cup").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import pairwise

from services.reading.chart.tokens import Utterance
from services.reading.language.language import Language

Words = tuple[str, ...]
Phrase = tuple[Words, str, str, str]


def prepared(phrases: Iterable[Phrase], said: Language) -> dict[str, str]:
    """Words of options that say what is done to an item, by the verb: "toasted" by "toast"."""
    phrases = list(phrases)
    items = {words for words, kind, *_ in phrases if kind == "item"}
    done = {words[0] for words, kind, *_ in phrases if kind == "option" and len(words) == 1}
    verbs = {
        word.removesuffix(sign): word
        for sign in said.participle_signs
        for word in done
        if word.endswith(sign) and len(word) > len(sign) + 3
    }
    packing = said.measures | said.vessels
    return {verb: word for verb, word in verbs.items() if (verb,) not in items and verb not in packing}


def numbered(tokens: Utterance, names: Collection[Words]) -> Utterance:
    """The words, with the number that a recogniser wrote as another word where a name of the menu begins with
    it: "a too scoop cup", "for piece nuggets"."""
    said = tokens.language
    begins = {name[:2] for name in names if name[1:2] and name[1] in said.counted_by_names}
    told = list(tokens)
    for i, (token, after) in enumerate(pairwise(tokens)):
        if token.after:
            continue
        number = str(said.homophones.get(token.folded, ""))
        if number and (number, after.folded) in begins:
            told[i] = replace(token, folded=number)
        if token.folded in said.naming and after.folded in said.numbers:
            told[i + 1] = replace(after, folded=str(said.numbers[after.folded]))  # "three number ones"
    return tokens.of(told)


def done(tokens: Utterance, verbs: dict[str, str], names: Collection[Words]) -> Utterance:
    """The words, with what is to be done to an item as what it then is: "toast it", "warm up two of them".
    Not where one of the menu's `names` is so."""
    said = tokens.language
    told = list(tokens)
    for i, (token, after) in enumerate(pairwise(tokens)):
        if token.folded not in verbs or token.after or not _has_object(tokens, i):
            continue
        if any(name[:2] == (token.folded, after.folded) for name in names):
            continue  # a menu may have "toast it"
        told[i] = replace(token, folded=verbs[token.folded])
        if i and told[i - 1].folded in said.refusals:
            told[i - 1] = replace(told[i - 1], after=",")  # "no, heat them all up"
    return tokens.of(told)


def _has_object(tokens: Utterance, at: int) -> bool:
    """Whether a word is a verb with what it is done to after it; a noun may follow where a clause begins."""
    said, object_ = tokens.language, tokens[at + 1].folded
    if object_ in said.objects_of_making:
        return True
    noun = object_ in said.definite_articles or object_ in said.others or object_.isdigit()
    return noun and _begins_clause(tokens, at)


def _begins_clause(tokens: Utterance, at: int) -> bool:
    if at == 0 or tokens[at - 1].after:
        return True
    before, said = tokens[at - 1].folded, tokens.language
    return before in said.conjunctions or before in said.before_verbs_of_making
