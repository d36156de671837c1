"""Choose an agent's next action: one of four tools, told apart by `kind`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, RootModel

from services.decoding.masked.output import output_type
from services.decoding.masked.task import Task
from services.examples.runner import Example

PROMPT = """\
You work in a folder of text files, one action at a time. You are told the goal, the files, and what was seen
so far. Answer with the one next action, as JSON in one of these forms and nothing else:

{"kind":"search","text":"..."}
{"kind":"read_file","path":"..."}
{"kind":"write_file","path":"...","text":"..."}
{"kind":"finish","text":"..."}

- search: you don't know yet which file holds what you need. `text` is the one word or name to look for.
- read_file: a listed or found file holds what you need, and you have not read it. Read a file before you
  change it.
- write_file: the goal asks for a file to be made or changed, and you know all you need. `text` is the whole
  new content of the file.
- finish: the goal is reached: what was seen answers the question, or the file is written. `text` is the
  answer in a few words."""
MAX_SEARCH_WORDS = 4
"""A useful search looks for a few words, not for the whole goal."""

FilePath = Annotated[str, Field(max_length=80)]
Words = Annotated[str, Field(max_length=80)]


class ReadFile(BaseModel):
    kind: Literal["read_file"]
    path: FilePath


class WriteFile(BaseModel):
    kind: Literal["write_file"]
    path: FilePath
    text: Annotated[str, Field(max_length=400)]


class Search(BaseModel):
    kind: Literal["search"]
    text: Words


class Finish(BaseModel):
    kind: Literal["finish"]
    text: Words


class NextAction(RootModel[Annotated[ReadFile | WriteFile | Search | Finish, Field(discriminator="kind")]]):
    """One of the four; `kind` comes first, so the tool is chosen before its arguments are written."""


TASK: Task[NextAction] = Task(
    name="actions",
    about="The next action of an agent in a folder of text files",
    output=output_type(NextAction),
    prompt=PROMPT,
    examples=(
        (
            "Goal: Which hotel has a pool?\nFiles: 58 files, too many to list\nSeen so far: nothing",
            '{"kind":"search","text":"pool"}',
        ),
        (
            "Goal: How tall is the tower?\nFiles: tower.txt, bridge.txt\nSeen so far: nothing",
            '{"kind":"read_file","path":"tower.txt"}',
        ),
        (
            "Goal: Which day is the market?\nFiles: market.txt, fair.txt\nSeen so far:\n"
            '- read_file market.txt: "market: Friday"',
            '{"kind":"finish","text":"Friday"}',
        ),
        (
            "Goal: Change the name in user.cfg to eve.\nFiles: user.cfg\nSeen so far:\n"
            '- read_file user.cfg: "name=bob"',
            '{"kind":"write_file","path":"user.cfg","text":"name=eve"}',
        ),
    ),
)


def exact(action: NextAction, gold: dict[str, Any]) -> bool:
    """Compare the tool and its arguments. Gold has several right texts: a written file equals one of them, a
    short search contains one, and an answer has one in it as a word."""
    done = action.root
    if done.kind != gold["kind"] or getattr(done, "path", None) != gold.get("path"):
        return False
    if isinstance(done, ReadFile):
        return True
    text, wanted = done.text.strip(), gold["text"]
    if isinstance(done, WriteFile):
        return text in wanted
    if isinstance(done, Search):
        found = any(word.lower() in text.lower() for word in wanted)
        return found and len(text.split()) <= MAX_SEARCH_WORDS
    words = "|".join(map(re.escape, wanted))
    return re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE) is not None


EXAMPLE = Example(TASK, Path(__file__).with_suffix(".jsonl"), exact)
