"""Four tasks over the same 200 situations, and when an action is the right one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from services.examples.actions.schema import AnyAction, KindLast, NextAction, Thoughtful
from services.examples.example import Example, Row
from services.masked.output import OutputType
from services.masked.task import Task

HERE = Path(__file__).parent
PROMPT = (HERE / "prompt.md").read_text(encoding="utf-8").strip()
QUERY_WORDS = 4
"""A search that finds something looks for a few words, not for the whole goal."""

Document = dict[str, Any]

FORMS: tuple[Document, ...] = (
    {"kind": "search", "text": "..."},
    {"kind": "read_file", "path": "..."},
    {"kind": "write_file", "path": "...", "text": "..."},
    {"kind": "finish", "text": "..."},
)
# Situation, thought, action.
SHOWN: tuple[tuple[str, str, Document], ...] = (
    (
        "Goal: Which hotel has a pool?\nFiles: 58 files, too many to list\nSeen so far: nothing",
        "Nothing was seen of a pool, and no file is listed.",
        {"kind": "search", "text": "pool"},
    ),
    (
        "Goal: How tall is the tower?\nFiles: tower.txt, bridge.txt\nSeen so far: nothing",
        "tower.txt is listed and was not read.",
        {"kind": "read_file", "path": "tower.txt"},
    ),
    (
        "Goal: Which day is the market?\nFiles: market.txt, fair.txt\nSeen so far:\n"
        '- read_file market.txt: "market: Friday"',
        "market.txt says Friday, which answers the question.",
        {"kind": "finish", "text": "Friday"},
    ),
    (
        "Goal: Change the name in user.cfg to eve.\nFiles: user.cfg\nSeen so far:\n"
        '- read_file user.cfg: "name=bob"',
        "user.cfg says name=bob and was not written.",
        {"kind": "write_file", "path": "user.cfg", "text": "name=eve"},
    ),
    (
        "Goal: Write the word red into paint.txt.\nFiles: paint.txt\nSeen so far:\n"
        "- write_file paint.txt: written",
        "paint.txt is written, so the goal is reached.",
        {"kind": "finish", "text": "paint.txt is written"},
    ),
    (
        "Goal: Who repaired the clock?\nFiles: 58 files, too many to list\nSeen so far:\n"
        '- search "clock": repairs/may.txt',
        "repairs/may.txt was found and was not read.",
        {"kind": "read_file", "path": "repairs/may.txt"},
    ),
)


def kind_first(action: Document, _: str = "") -> Document:
    return action


def kind_last(action: Document, _: str = "") -> Document:
    return {**{name: action[name] for name in action if name != "kind"}, "kind": action["kind"]}


def thought_first(action: Document, thought: str = "...") -> Document:
    return {"thinking": thought, **action}


def _task(name: str, about: str, model: type[Any], form: Any, history: str = "") -> Task[Any]:
    """The same page and examples for all, in the order of `form`."""
    forms = "\n".join(_written(form(action)) for action in FORMS)
    examples = tuple((said, _written(form(action, thought))) for said, thought, action in SHOWN)
    prompt = PROMPT.replace("{forms}", forms)
    return Task(name, about, OutputType.of(model), prompt, examples, history)


def _written(action: Document) -> str:
    return json.dumps(action, ensure_ascii=False, separators=(",", ":"))


TASK = _task("actions", "the next action of an agent in a folder", NextAction, kind_first)
TASKS = (
    TASK,
    _task("actions-kind-last", "the same, `kind` after the fields", KindLast, kind_last),
    _task("actions-thinking", "the same after a sentence of thinking", Thoughtful, thought_first),
    _task("actions-primed", "the same after a turn of another kind", NextAction, kind_first, "history"),
)


def judge(value: AnyAction, row: Row) -> dict[str, bool]:
    """`branch`: the right kind; `right`: and its arguments; `as_before`: the kind that the primed chat shows
    in the turn before, which is never the right one."""
    action = value.root.model_dump()
    branch = action["kind"] == row.gold["kind"]
    return {
        "branch": branch,
        "right": branch and _fits(action, row.gold),
        "as_before": action["kind"] == row.more["before"],
    }


def _fits(action: Document, gold: Document) -> bool:
    """A path is exact, and so is a file's content but for white space at its ends. A query holds one of the
    words, is short, and is none that found nothing before. An answer has one of the words in it."""
    if action.get("path") != gold.get("path"):
        return False
    text = action.get("text", "").strip()
    match action["kind"]:
        case "write_file":
            return text in gold["text"]
        case "search":
            known = any(word.lower() in text.lower() for word in gold["text"])
            again = text.lower() in (query.lower() for query in gold["not"])
            return known and not again and len(text.split()) <= QUERY_WORDS
        case "finish":
            words = "|".join(map(re.escape, gold["text"]))
            return re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE) is not None
    return True


EXAMPLE = Example("actions", TASKS, HERE / "gold.jsonl", judge)
