"""The words of a form: `conjugate("write", "past perfect", "third")` is "she had written".

Principal parts are made by rule, and those that no rule makes stand in a table. All is of the singular; but
for the third person ("they write") the plural has the same words, since "be" is not among the verbs.
"""

from __future__ import annotations

from services.examples.conjugation.schema import Person, Tense, Verb

PRONOUNS: dict[Person, str] = {"first": "I", "second": "you", "third": "she"}
# Past and participle.
IRREGULAR: dict[str, tuple[str, str]] = {
    "break": ("broke", "broken"),
    "bring": ("brought", "brought"),
    "buy": ("bought", "bought"),
    "drink": ("drank", "drunk"),
    "eat": ("ate", "eaten"),
    "give": ("gave", "given"),
    "go": ("went", "gone"),
    "have": ("had", "had"),
    "put": ("put", "put"),
    "read": ("read", "read"),
    "see": ("saw", "seen"),
    "take": ("took", "taken"),
    "teach": ("taught", "taught"),
    "write": ("wrote", "written"),
}
VOWELS = "aeiou"


def conjugate(verb: Verb, tense: Tense, person: Person) -> str:
    """Pronoun and verb, such as "I walk" and "she will have"."""
    return f"{PRONOUNS[person]} {words(verb, tense, person)}"


def words(verb: Verb, tense: Tense, person: Person) -> str:
    """The verb with its auxiliary, without a pronoun."""
    match tense:
        case "present":
            return third(verb) if person == "third" else verb
        case "past":
            return past(verb)
        case "future":
            return f"will {verb}"
        case "present perfect":
            return f"{'has' if person == 'third' else 'have'} {participle(verb)}"
        case "past perfect":
            return f"had {participle(verb)}"


def third(verb: str) -> str:
    """What "she" does now."""
    if verb == "have":
        return "has"
    if _ends_in_consonant_y(verb):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"


def past(verb: str) -> str:
    """What anyone did."""
    return IRREGULAR[verb][0] if verb in IRREGULAR else _regular(verb)


def participle(verb: str) -> str:
    """What stands after "have"."""
    return IRREGULAR[verb][1] if verb in IRREGULAR else _regular(verb)


def _regular(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    if _ends_in_consonant_y(verb):
        return f"{verb[:-1]}ied"
    return f"{verb}{verb[-1]}ed" if _doubles(verb) else f"{verb}ed"


def _ends_in_consonant_y(verb: str) -> bool:
    return verb[-1] == "y" and verb[-2] not in VOWELS


def _doubles(verb: str) -> bool:
    """One vowel and one consonant at the end of one syllable: "stop", and not "walk", "play" or "visit"."""
    one_vowel = sum(sign in VOWELS for sign in verb) == 1
    return one_vowel and verb[-2] in VOWELS and verb[-1] not in f"{VOWELS}wxy"
