"""What a chat request may say. A field that would change an answer here is obeyed or refused, never passed
over: a mask that was not held would look like one that was.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import InputError

MOST_TOKENS = 4_096


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Turn(_Part):
    """A turn of the chat."""

    role: str
    content: str


class Prediction(_Part):
    """OpenAI's field for an answer that is largely known."""

    type: Literal["content"] = "content"
    content: str


class Lora(_Part):
    """llama.cpp's field for an adapter: 0 is the only one here, and it is on or off."""

    id: Literal[0]
    scale: Annotated[float, Field(ge=0, le=1, multiple_of=1)]


class Request(_Part):
    """Temperature 0 takes the likeliest token that the mask allows; `seed` makes other draws come again, as
    far as a server's arithmetic does. `menu_s`: a new menu is read in pieces of so many seconds."""

    messages: Annotated[list[Turn], Field(min_length=1)]
    grammar: str = ""
    max_tokens: Annotated[int, Field(ge=1)] = MOST_TOKENS
    temperature: Annotated[float, Field(ge=0, le=5)] = 0.0
    seed: Annotated[int, Field(ge=0)] | None = None
    prediction: Prediction = Prediction(content="")
    lora: list[Lora] = []
    menu_s: Annotated[float, Field(ge=0, le=600)] = 0.0
    # Clients send these as well. All that is asked for by them is done in any case.
    model: str = ""
    cache_prompt: bool = True
    logprobs: bool = True
    top_logprobs: Annotated[int, Field(ge=0, le=1)] = 1

    @property
    def adapted(self) -> bool:
        """Whether the adapter is to be at work."""
        return any(one.scale for one in self.lora)


def request(body: dict[str, Any]) -> Request:
    """Read a request's document.

    Raises:
        InputError: it can't be read, or asks for what this server can't obey.
    """
    try:
        read = Request.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"{'/'.join(map(str, first['loc']))}: {first['msg']}") from None
    if read.messages[-1].role == "assistant":
        raise InputError("messages end with a turn that is not the assistant's: no answer is begun for it")
    return read
