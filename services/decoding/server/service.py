"""A model behind a chat call of the OpenAI protocol, in llama.cpp's shape: the reader, with its adapter at
work where a request says so (`lora`), or any masked call to the model as it is.

Of a request it takes `messages`, `grammar` (llguidance's Lark), `max_tokens`, `temperature`, `seed`, and
`prediction`, OpenAI's field for an answer that is largely known
(https://platform.openai.com/docs/guides/predicted-outputs). A field that would change an answer is obeyed or
refused, never passed over: a mask that was not held would look like one that was. With `menu_s` a new menu is
read in pieces of so many seconds. With the text comes how likely the model held each token without the mask,
as llama.cpp's server does with `logprobs`, those of a prediction included, which that server leaves out.

Cost: 1.4 GB of its own with the 1.5B and a context of 12,288 tokens; docs/benchmarks has the seconds.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import InputError, MenuBeingRead
from services.decoding.server.answering import Answer, Answering
from services.decoding.server.model import ATTENTION, Llama
from services.decoding.server.prefixes import Prefixes, common_length
from services.decoding.server.states import StateFolder

Document = dict[str, Any]
PACKAGE = "xllamacpp"
MOST_TOKENS = 4_096
# Two questions of which nothing but the menu's part is the same.
_ONE, _OTHER = "a", "b"


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


class Reader:
    """A model with or without an adapter; one answer at a time. States of menus are kept in `folder`."""

    def __init__(
        self,
        model: Path,
        adapter: Path | None,
        *,
        context: int,
        threads: int,
        folder: Path | None = None,
    ) -> None:
        self.name, self.adapter = model.name, adapter.stem if adapter else ""
        self._model = Llama(model, adapter, context=context, threads=threads)
        self._vocabulary = self._model.vocabulary
        states = StateFolder(folder, _about(model, adapter)) if folder else None
        self._prefixes = Prefixes(self._model, states, adapted=bool(adapter))
        self._answering = Answering(self._prefixes, self._vocabulary.tokenizer(), self._vocabulary.end)
        self._turn = threading.Lock()
        self._in_hand: set[int] = set()

    @property
    def in_hand(self) -> int:
        """Requests that are answered or wait for their turn."""
        return len(self._in_hand)

    @property
    def written(self) -> int:
        """Tokens of all answers."""
        return self._answering.written

    def tokenize(self, text: str) -> list[int]:
        """The tokens of a text, as of a question; from any thread."""
        return self._vocabulary.tokenize(text)

    def complete(self, body: Document, cancelled: Callable[[], bool]) -> Document:
        """The document that answers a request; of `menu_being_read` alone where the menu is not read yet.

        Raises:
            InputError: the request can't be read, or asks for what this server has not.
            DecodeInvalid, DecodeCancelled, EngineMisconfigured: as `Answering.answer`.
        """
        wanted = request(body)
        if wanted.adapted and not self.adapter:
            raise InputError("This server has no adapter", hint="Leave `lora` out.")
        self._in_hand.add(threading.get_ident())
        try:
            with self._turn:
                return self._complete(wanted, cancelled)
        except MenuBeingRead as error:
            return {error.code: {"wait_s": error.wait_s}}
        finally:
            self._in_hand.discard(threading.get_ident())

    def _complete(self, wanted: Request, cancelled: Callable[[], bool]) -> Document:
        self._prefixes.use(adapted=wanted.adapted)
        prompt, shared = self._tokens([turn.model_dump() for turn in wanted.messages])
        answer = self._answering.answer(
            prompt,
            shared,
            grammar=wanted.grammar,
            prediction=self._vocabulary.tokenize(wanted.prediction.content),
            most=wanted.max_tokens,
            cancelled=cancelled,
            menu_s=wanted.menu_s,
            temperature=wanted.temperature,
            seed=wanted.seed,
        )
        return self._document(answer)

    def _tokens(self, messages: list[dict[str, str]]) -> tuple[list[int], int]:
        """A prompt, and how many of its first tokens are there whatever the last message says."""
        prompt = self._model.chat(messages)
        before, last = messages[:-1], messages[-1]
        one, other = (self._model.chat([*before, {**last, "content": text}]) for text in (_ONE, _OTHER))
        shared = min(common_length(one, other), common_length(one, prompt))
        return prompt, min(shared, len(prompt) - 1)

    def _document(self, answer: Answer) -> Document:
        # What ends an answer is a mark of the chat, which has no text.
        text = b"".join(self._vocabulary.piece(one.token) for one in answer.tokens)
        content = [
            {
                **self._token(one.token, one.logprob),
                "top_logprobs": [self._token(one.best, one.best_logprob)],
            }
            for one in answer.tokens
        ]
        return {
            "model": self.name,
            "choices": [
                {
                    "message": {"role": "assistant", "content": _shown(text)},
                    "logprobs": {"content": content},
                    "finish_reason": "stop" if answer.ended else "length",
                }
            ],
            "usage": {
                "prompt_tokens": answer.prompt,
                "completion_tokens": len(answer.tokens),
                "total_tokens": answer.prompt + len(answer.tokens),
                "prompt_tokens_details": {"cached_tokens": answer.cached},
                "completion_tokens_details": {"accepted_prediction_tokens": answer.accepted},
            },
        }

    def _token(self, token: int, logprob: float) -> Document:
        piece = self._vocabulary.piece(token)
        return {"id": token, "token": _shown(piece), "bytes": list(piece), "logprob": logprob}


def _about(model: Path, adapter: Path | None) -> str:
    """Name what states are good for; a model by its file's marks, since to hash 1 GB takes seconds."""
    file = model.stat()
    lora = hashlib.sha256(adapter.read_bytes()).hexdigest() if adapter else ""
    library = f"{PACKAGE} {version(PACKAGE)} {ATTENTION}"
    return f"{library} {model.name} {file.st_size} {file.st_mtime_ns} {lora}"


def _shown(piece: bytes) -> str:
    """A part of a character is shown as llama.cpp shows it."""
    return piece.decode("utf-8", errors="replace")
