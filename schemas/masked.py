"""What a masked call takes and gives: one text in, one value of a registered task's form out."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from schemas.described import Described

TIMEOUT_S = 45.0
"""One answer; past it the decode server counts as away. Under the minute that a proxy waits."""
MAX_TEXT_CHARS = 8_000
"""Of what is asked about. With the task's page of prompt and the answer it has to fit into the context of one
slot of the embedded server, 12,288 tokens."""
MOST_SEED = 2**31 - 1


class MaskedRequest(
    Described, extra="forbid", json_schema_extra={"examples": [{"text": "The till prints nothing."}]}
):
    """`POST /v1/masked/{name}`."""

    text: str = Field(min_length=1, max_length=MAX_TEXT_CHARS)
    """What is asked about."""
    score: bool = Field(default=False, strict=True)
    """Tell how likely the model held each field when no mask held it."""
    temperature: float = Field(default=0.0, ge=0, le=2, strict=True)
    """0 takes the likeliest token that the mask allows."""
    seed: int | None = Field(default=None, ge=0, le=MOST_SEED, strict=True)
    """Makes draws at a temperature over 0 come again."""


class MaskedBy(Described):
    """How an answer was made. Of the prompt's tokens `cached_tokens` came from the server's cache; `seconds`
    is wall time."""

    name: str
    """Server and model."""
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float


class MaskedAnswer(Described):
    """A whole answer, which is of the task's form, and which its rules accept."""

    task: str
    version: str
    """Changes when and only when the grammar does."""
    answer: Any
    """JSON of the task's schema, or text of the task's own grammar."""
    probability: dict[str, float] | None
    """By JSON pointer into the answer's text; null where it was not asked for, or the server can't tell.
    Text that is no JSON is one value, under the empty pointer."""
    engine: MaskedBy


class MaskedTask(Described):
    """One registered task. `form` is `json`, then there is the JSON Schema that its mask is made from, or
    `grammar`, a language of its own."""

    name: str
    about: str
    version: str
    form: Literal["json", "grammar"]
    json_schema: dict[str, Any] | None = Field(serialization_alias="schema")
    longest_bytes: int
    """No answer has more."""


class MaskedTasks(BaseModel):
    """`GET /v1/masked`, by name."""

    tasks: list[MaskedTask]
