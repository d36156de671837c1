"""Chat completions in the format of llama.cpp's server, with the adapter if the request says so (`lora`).

The response has each token's log probability without the mask, as with `logprobs`; llama.cpp's server omits
those of a prediction.

Cost: 1.4 GB with the 1.5B model and a context of 12,288 tokens; docs/benchmarks has the times.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from schemas.errors import InputError, MenuBeingRead
from services.decoding.server.generation import Answer, Generator
from services.decoding.server.llama import library
from services.decoding.server.model import ATTENTION, Llama
from services.decoding.server.prefix_cache import PrefixCache, common_length
from services.decoding.server.request import ChatRequest
from services.decoding.server.state_folder import StateFolder

Document = dict[str, Any]
PACKAGE = "xllamacpp"
# Two messages without a common beginning.
_PROBES = "a", "b"


class ChatEngine:
    """A model with an optional adapter, which answers one request at a time; menus are cached in `folder`."""

    def __init__(
        self, model: Path, adapter: Path | None, folder: Path, *, context: int, threads: int
    ) -> None:
        self.name, self.adapter = model.name, adapter.stem if adapter else ""
        self._model = Llama(model, adapter, context=context, threads=threads)
        self._vocabulary = self._model.vocabulary
        states = StateFolder(folder, _owner(model, adapter))
        self._cache = PrefixCache(self._model, states, adapted=bool(adapter))
        self._generator = Generator(self._cache, self._vocabulary.tokenizer(), self._vocabulary.end)
        self._lock = threading.Lock()

    def tokenize(self, text: str) -> list[int]:
        """Return the tokens of a text; callable from any thread."""
        return self._vocabulary.tokenize(text)

    def complete(self, request: ChatRequest, cancelled: Callable[[], bool]) -> Document:
        """Return the response document; only `menu_being_read` if the menu was not finished.

        Raises:
            InputError: the request is not supported.
            DecodeInvalid, DecodeCancelled, EngineMisconfigured: as `Generator.generate`.
        """
        if request.messages[-1].role == "assistant":
            raise InputError("messages: the last one can't be the assistant's: answers can't be prefilled")
        if request.adapted and not self.adapter:
            raise InputError("This server has no adapter", hint="Leave `lora` out.")
        try:
            with self._lock:
                self._cache.set_adapter(on=request.adapted)
                prompt, shared = self._tokens([turn.model_dump() for turn in request.messages])
                prediction = self.tokenize(request.prediction.content)
                answer = self._generator.generate(prompt, shared, prediction, request, cancelled)
        except MenuBeingRead as error:
            return {error.code: {"wait_s": error.wait_s}}
        return self._document(answer)

    def _tokens(self, messages: list[dict[str, str]]) -> tuple[list[int], int]:
        """Return a prompt, and the length of its prefix that doesn't depend on the last message."""
        prompt = self._model.chat_tokens(messages)
        before, last = messages[:-1], messages[-1]
        a, b = (self._model.chat_tokens([*before, {**last, "content": text}]) for text in _PROBES)
        shared = min(common_length(a, b), common_length(a, prompt))
        return prompt, min(shared, len(prompt) - 1)

    def _document(self, answer: Answer) -> Document:
        # The token that ends an answer has no text.
        pieces = [self._vocabulary.piece(scored.token) for scored in answer.tokens]
        content = [
            {
                "id": scored.token,
                "token": _text(piece),
                "logprob": scored.logprob,
                "top_logprobs": [{"id": scored.best}],
            }
            for scored, piece in zip(answer.tokens, pieces, strict=True)
        ]
        return {
            "model": self.name,
            "choices": [
                {
                    "message": {"role": "assistant", "content": _text(b"".join(pieces))},
                    "logprobs": {"content": content},
                    "finish_reason": "stop" if answer.ended else "length",
                }
            ],
            "usage": {
                "prompt_tokens": answer.prompt,
                "completion_tokens": len(answer.tokens),
                "prompt_tokens_details": {"cached_tokens": answer.cached},
                "completion_tokens_details": {"accepted_prediction_tokens": answer.accepted},
            },
        }


def _owner(model: Path, adapter: Path | None) -> str:
    """Return the owner of saved states; the model by its file's metadata, since hashing 1 GB is slow."""
    stat = model.stat()
    lora = hashlib.sha256(adapter.read_bytes()).hexdigest() if adapter else ""
    build = Path(library()._name).name  # states of the compiled one differ in the last digits
    engine = f"{PACKAGE} {version(PACKAGE)} {build} {ATTENTION}"
    return f"{engine} {model.name} {stat.st_size} {stat.st_mtime_ns} {lora}"


def _text(piece: bytes) -> str:
    """Return a token as text; part of a character becomes U+FFFD, as in llama.cpp."""
    return piece.decode("utf-8", errors="replace")
