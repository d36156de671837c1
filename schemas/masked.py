"""What a masked call takes and gives: one text in, one value of a registered task's form out."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TIMEOUT_S = 45.0
"""One answer; past it the decode server counts as away. Under the minute that a proxy waits."""
MAX_TEXT_CHARS = 8_000
"""Of what is asked about. With the task's page of prompt and the answer it has to fit into the context of one
slot of the embedded server, 12,288 tokens."""
MOST_SEED = 2**31 - 1


class MaskedRequest(BaseModel):
    """`POST /v1/masked/{name}`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"text": "The till prints nothing."}]},
    )

    text: str = Field(min_length=1, max_length=MAX_TEXT_CHARS, description="what is asked about")
    score: bool = Field(
        default=False,
        strict=True,
        description="tell how likely the model held each field when no mask held it",
    )
    temperature: float = Field(
        default=0.0, ge=0, le=2, strict=True, description="0 takes the likeliest token that the mask allows"
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        le=MOST_SEED,
        strict=True,
        description="makes draws at a temperature over 0 come again",
    )


class MaskedBy(BaseModel):
    """How an answer was made. Of the prompt's tokens `cached_tokens` came from the server's cache; `seconds`
    is wall time."""

    name: str = Field(description="server and model")
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float


class MaskedAnswer(BaseModel):
    """A whole answer, which is of the task's form, and which its rules accept."""

    task: str
    version: str = Field(description="changes when and only when the grammar does")
    answer: Any = Field(description="JSON of the task's schema, or text of the task's own grammar")
    probability: dict[str, float] | None = Field(
        description="by JSON pointer into the answer's text; null where it was not asked for, or the server "
        "can't tell. Text that is no JSON is one value, under the empty pointer"
    )
    engine: MaskedBy


class MaskedTask(BaseModel):
    """One registered task. `form` is `json`, then there is the JSON Schema that its mask is made from, or
    `grammar`, a language of its own."""

    name: str
    about: str
    version: str
    form: Literal["json", "grammar"]
    json_schema: dict[str, Any] | None = Field(serialization_alias="schema")
    longest_bytes: int = Field(description="no answer has more")


class MaskedTasks(BaseModel):
    """`GET /v1/masked`, by name."""

    tasks: list[MaskedTask]
