"""The bodies that the embedded engine accepts, in the format of llama.cpp's server.

A chat completion has `messages`, and may have `grammar` (llguidance's Lark), `max_tokens`, `temperature`,
`seed` and `prediction` (https://platform.openai.com/docs/guides/predicted-outputs). Other fields that would
change the answer are rejected, not ignored: a client could not tell that its mask was dropped.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_TOKENS = 4_096


class Body(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class TextToTokenize(Body):
    """A request to count tokens."""

    content: str


class ChatTurn(Body):
    """A chat message."""

    role: str
    content: str


class Prediction(Body):
    """OpenAI's predicted output."""

    type: Literal["content"] = "content"
    content: str


class Lora(Body):
    """llama.cpp's adapter setting: the only adapter, 0, on or off."""

    id: Literal[0]
    scale: Annotated[float, Field(ge=0, le=1, multiple_of=1)]


class ChatRequest(Body):
    """A chat completion request. Temperature 0 is greedy decoding; with `menu_s` a new menu is evaluated in
    chunks of that many seconds."""

    messages: Annotated[list[ChatTurn], Field(min_length=1)]
    grammar: str = ""
    max_tokens: Annotated[int, Field(ge=1)] = MAX_TOKENS
    temperature: Annotated[float, Field(ge=0, le=5)] = 0.0
    seed: Annotated[int, Field(ge=0)] | None = None
    prediction: Prediction = Prediction(content="")
    lora: list[Lora] = []
    menu_s: Annotated[float, Field(ge=0, le=600)] = 0.0
    # Clients also send these, which change nothing here.
    model: str = ""
    logprobs: bool = True
    top_logprobs: Annotated[int, Field(ge=0, le=1)] = 1

    @property
    def adapted(self) -> bool:
        """True if the adapter is to be used."""
        return any(one.scale for one in self.lora)
