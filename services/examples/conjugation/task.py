"""The task: a sentence -> what shows its verb form, and the form; and the same without what shows it."""

from __future__ import annotations

import json
from pathlib import Path

from services.examples.conjugation.evidence import evident
from services.examples.conjugation.schema import Form, Found, NoForm, Person, Tense, Verb
from services.examples.example import Example, Row
from services.masked.output import output_type
from services.masked.task import Task

HERE = Path(__file__).parent
PROMPT = (HERE / "prompt.md").read_text(encoding="utf-8")
NOTHING = Found(NoForm(verb=None)).model_dump_json()
NONE = (HERE / "none.md").read_text(encoding="utf-8")


def _shown(*pairs: tuple[str, Verb, Tense, Person]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (said, Form(verb=verb, tense=tense, person=person).model_dump_json())
        for said, verb, tense, person in pairs
    )


SHOWN = _shown(
    ("Did your uncle dance with her?", "dance", "past", "third"),
    ("We have never walked so far.", "walk", "present perfect", "first"),
    ("You won't see anything from here.", "see", "future", "second"),
    ("The dogs drink rain water.", "drink", "present", "third"),
    ("I had stopped the clock.", "stop", "past perfect", "first"),
    ("Do you take the bus?", "take", "present", "second"),
    ("Anna will teach the class.", "teach", "future", "third"),
    ("You wrote the wrong name.", "write", "past", "second"),
    ("Has the plumber put it back?", "put", "present perfect", "third"),
    ("They hadn't bought any bread.", "buy", "past perfect", "third"),
)
SHOWN_NONE = (
    ("Nobody opened the window.", NOTHING),
    ("She was eating a pear.", NOTHING),
    ("He wants to play outside.", NOTHING),
)

# Subject and helper of the same sentences.
SEEN = (
    ("other", "none"),
    ("other", "other"),
    ("other", "none"),
    ("other", "did"),
    ("we", "have"),
    ("you", "will"),
    ("other", "none"),
    ("I", "had"),
    ("you", "do"),
    ("other", "will"),
    ("you", "none"),
    ("other", "has"),
    ("other", "had"),
)


def _evident() -> tuple[tuple[str, str], ...]:
    return tuple(
        (said, json.dumps({"subject": subject, "helper": helper, **json.loads(told)}, separators=(",", ":")))
        for (said, told), (subject, helper) in zip(SHOWN_NONE + SHOWN, SEEN, strict=True)
    )


CONJUGATION: Task[Found] = Task(
    name="conjugation",
    about="The verb form of an English sentence: one of 20 verbs, 5 tenses, 3 persons, or none of them.",
    output=evident(),
    prompt=(HERE / "evidence.md").read_text(encoding="utf-8"),
    examples=_evident(),
)
FORM_ALONE: Task[Found] = Task(
    name="conjugation-form-alone",
    about="The same, without the sentence's subject and helper before it.",
    output=output_type(Found),
    prompt=f"{PROMPT}\n{NONE}",
    examples=SHOWN_NONE + SHOWN,
)


def judge(value: Found, row: Row) -> dict[str, bool]:
    """`verb`, `tense`, `person` and all three; of what has none of them, whether that was said. `inside` and
    `outside` are the right ones among sentences with and without one of the 300, so shares of fewer rows."""
    form = value.form
    told = form.model_dump() if form else None
    if told is None or row.gold is None:
        same = told == row.gold
        marks = {"verb": same, "tense": same, "person": same}
    else:
        marks = {part: told[part] == row.gold[part] for part in ("verb", "tense", "person")}
    right = all(marks.values())
    return {
        "right": right,
        **marks,
        "inside": right and row.gold is not None,
        "outside": right and row.gold is None,
    }


EXAMPLE: Example[Found] = Example(
    name="conjugation", tasks=(CONJUGATION, FORM_ALONE), gold=HERE / "gold.jsonl", judge=judge
)
