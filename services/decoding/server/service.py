"""A model behind a chat call of the OpenAI protocol, in llama.cpp's shape: the reader, with its adapter at
work where a request says so (`lora`), or any masked call to the model as it is.

Of a request it takes `messages`, `grammar` (llguidance's Lark), `max_tokens`, `temperature`, `seed`, and
`prediction`, OpenAI's field for an answer that is largely known
(https://platform.openai.com/docs/guides/predicted-outputs). A last message of the assistant is the beginning
of the answer, which is told again. With `menu_s` a new menu is read in pieces of so many seconds (`gaps.py`).
With the text comes how likely the model held each token without the mask, as llama.cpp's server does with
`logprobs`, those of a prediction included, which that server leaves out.

Cost: 1.4 GB of its own with the 1.5B and a context of 12,288 tokens; docs/benchmarks has the seconds.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from schemas.errors import InputError, MenuBeingRead
from services.decoding.hosts.vocabulary import read_vocabulary
from services.decoding.ports import Sampling
from services.decoding.server import asking
from services.decoding.server.answering import Answer, Answering
from services.decoding.server.llama import ATTENTION, Llama
from services.decoding.server.prefixes import MEMORY_BYTES, Prefixes, common_length
from services.decoding.server.turns import Turns

Document = dict[str, Any]
PACKAGE = "xllamacpp"
MOST_TOKENS = 4_096
MOST_MENU_S = 600
# Two questions of which nothing but the menu's part is the same.
_ONE, _OTHER = "a", "b"


@dataclass(frozen=True, slots=True)
class _Asked:
    messages: list[dict[str, str]]
    most: int
    grammar: str
    prediction: str
    menu_s: float
    adapted: bool
    sampling: Sampling
    beginning: str


class Reader:
    """A model with or without an adapter; one answer at a time, whoever asks."""

    def __init__(
        self,
        model: Path,
        adapter: Path | None,
        *,
        name: str,
        context: int,
        threads: int,
        folder: Path | None = None,
        disk_bytes: int = 0,
    ) -> None:
        self.name, self.adapter = name, adapter.stem if adapter else ""
        vocabulary = read_vocabulary(model)
        self._model = Llama(model, adapter, context=context, threads=threads)
        self._tokenizer, self._end = vocabulary.tokenizer(), vocabulary.end
        self._folder, self._disk_bytes = folder, disk_bytes
        # What was read with the adapter is of no use without it.
        self._with = self._answers(_about(model, adapter), MEMORY_BYTES)
        self._without = self._answers(_about(model, None), MEMORY_BYTES // 4) if adapter else self._with
        self._at_work = self._with
        self.turns = Turns()

    def _answers(self, about: str, memory_bytes: int) -> tuple[Answering, Prefixes]:
        prefixes = Prefixes(
            self._model,
            self._folder,
            about=about,
            memory_bytes=memory_bytes,
            disk_bytes=self._disk_bytes,
        )
        return Answering(prefixes, self._tokenizer, self._end), prefixes

    @property
    def written(self) -> int:
        """Tokens of all answers."""
        return sum(answering.written for answering, _ in {self._with, self._without})

    def tokenize(self, text: str) -> list[int]:
        """The tokens of a text, as of a question; from any thread."""
        return self._model.tokenize(text)

    def complete(self, body: Document, gone: Callable[[], bool]) -> Document:
        """The document that answers a request; of `menu_being_read` alone where the menu is not read yet.

        Raises:
            InputError: the request can't be read, or asks for what this server has not.
            DecodeInvalid, DecodeCancelled, EngineMisconfigured: as `Answering.answer`.
        """
        asked = _asked(body)
        if asked.adapted and not self.adapter:
            raise InputError("This server has no adapter", hint="Leave `lora` out.")
        try:
            return self._complete(asked, gone)
        except MenuBeingRead as error:
            return {error.code: {"wait_s": error.wait_s}}

    def _complete(self, asked: _Asked, gone: Callable[[], bool]) -> Document:
        with self.turns.turn():
            started = time.perf_counter()
            prompt, shared = self._tokens(asked.messages)
            answer = self._of(asked.adapted).answer(
                prompt + self._model.tokenize(asked.beginning),
                shared,
                grammar=asked.grammar,
                prediction=self._model.tokenize(asked.prediction),
                most=asked.most,
                gone=gone,
                menu_s=asked.menu_s,
                sampling=asked.sampling,
            )
            return self._document(answer, time.perf_counter() - started, asked.beginning)

    def _of(self, adapted: bool) -> Answering:
        """Who answers with the adapter, or without it; the other makes room."""
        wanted = self._with if adapted else self._without
        if wanted is not self._at_work:
            self._at_work[1].leave()
            self._model.adapt(on=adapted)
            self._at_work = wanted
        return wanted[0]

    def _tokens(self, messages: list[dict[str, str]]) -> tuple[list[int], int]:
        """A prompt, and how many of its first tokens are there whatever the last message says."""
        prompt = self._model.chat(messages)
        before, last = messages[:-1], messages[-1]
        one, other = (self._model.chat([*before, {**last, "content": said}]) for said in (_ONE, _OTHER))
        shared = min(common_length(one, other), common_length(one, prompt))
        return prompt, min(shared, len(prompt) - 1)

    def _document(self, answer: Answer, seconds: float, beginning: str) -> Document:
        pieces = [self._model.piece(drawn.token) for drawn in answer.tokens]
        content = [
            {
                "id": drawn.token,
                "token": _shown(piece),
                "bytes": list(piece),
                "logprob": drawn.logprob,
                "top_logprobs": [
                    {
                        "id": drawn.best,
                        "token": _shown(self._model.piece(drawn.best)),
                        "logprob": drawn.best_logprob,
                    }
                ],
            }
            for drawn, piece in zip(answer.tokens, pieces, strict=True)
        ]
        # What ends an answer is a mark of the chat, of which the text has nothing.
        text = b"".join(pieces[:-1] if answer.ended else pieces)
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.name,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": beginning + _shown(text)},
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
            "timings": {"seconds": round(seconds, 4)},
        }


def _asked(body: Document) -> _Asked:
    asking.checked(body)
    messages, beginning = asking.begun(_messages(body))
    most, grammar = body.get("max_tokens", MOST_TOKENS), body.get("grammar", "")
    if not isinstance(most, int) or most < 1 or not isinstance(grammar, str):
        raise InputError("max_tokens is a number from 1 on, and grammar a text")
    menu_s = body.get("menu_s", 0)
    if not isinstance(menu_s, int | float) or not 0 <= menu_s <= MOST_MENU_S:
        raise InputError(f"menu_s is a number of seconds up to {MOST_MENU_S}")
    adapted, sampling = asking.adapted(body), asking.sampling(body)
    return _Asked(messages, most, grammar, _prediction(body), menu_s, adapted, sampling, beginning)


def _messages(body: Document) -> list[dict[str, str]]:
    found = body.get("messages")
    fit = isinstance(found, list) and found and all(isinstance(one, dict) for one in found)
    if not fit or not all(isinstance(one.get(key), str) for one in found for key in ("role", "content")):  # type: ignore[union-attr]
        raise InputError("messages is a list of turns, each with a role and a content")
    return found  # type: ignore[return-value]


def _prediction(body: Document) -> str:
    found = body.get("prediction") or {"content": ""}
    if not isinstance(found, dict) or not isinstance(found.get("content"), str):
        raise InputError('prediction is {"type": "content", "content": TEXT}')
    return str(found["content"])


def _about(model: Path, adapter: Path | None) -> str:
    """Names what states are good for; a model by its file's marks, since to hash 1 GB takes seconds."""
    file = model.stat()
    adapted = hashlib.sha256(adapter.read_bytes()).hexdigest() if adapter else ""
    library = f"{PACKAGE} {version(PACKAGE)} {ATTENTION}"
    return f"{library} {model.name} {file.st_size} {file.st_mtime_ns} {adapted}"


def _shown(piece: bytes) -> str:
    """A part of a character is shown as llama.cpp shows it."""
    return piece.decode("utf-8", errors="replace")
