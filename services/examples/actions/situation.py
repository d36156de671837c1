"""What an agent is told before each action, in gold rows and in a real run alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from services.examples.actions.schema import Action, Finish, Search

LISTED = 12
"""Files; of more only their number is told."""
SHOWN = 600
"""Characters of what was read; a bound on the prompt of a long run."""


@dataclass(frozen=True, slots=True)
class Step:
    """An action that was done, or `refused`, and what was `seen` of it."""

    action: Action
    seen: str
    refused: bool = False

    def __str__(self) -> str:
        action = self.action
        if isinstance(action, Search | Finish):
            what = _quoted(action.text)
        else:
            what = action.path if action.path.isprintable() else _quoted(action.path)
        return f"{action.kind} {what}: {'error: ' if self.refused else ''}{self.seen}"


def situation(goal: str, files: Sequence[str], steps: Sequence[Step]) -> str:
    """Goal, files and steps so far, as one message."""
    listed = ", ".join(files) or "none"
    if len(files) > LISTED:
        listed = f"{len(files)} files, too many to list"
    seen = "".join(f"\n- {step}" for step in steps) or " nothing"
    return f"Goal: {goal}\nFiles: {listed}\nSeen so far:{seen}"


def shown(content: str) -> str:
    """A file's content in quotes, the beginning of a long one."""
    rest = len(content) - SHOWN
    more = f" and {rest} more characters" if rest > 0 else ""
    return _quoted(content[:SHOWN]) + more


def _quoted(text: str) -> str:
    """On one line, so that nothing in it reads as a step."""
    return json.dumps(text, ensure_ascii=False)
