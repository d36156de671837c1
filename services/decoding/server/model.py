"""A model of llama.cpp, with or without an adapter at work, and its logits for any tokens.

Cost, 1.5B in 4 bits on 2 threads: 1.2 GB; 20 to 25 ms a token in batches of 128, 32 in one of 30, 77 alone.
"""

from __future__ import annotations

import ctypes as c
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from schemas.errors import DecodeCancelled, EngineMisconfigured
from services.decoding.server.llama import ABORT, ABORTED, ChatMessage, library
from services.decoding.server.vocabulary import ModelVocabulary

Row = npt.NDArray[np.float32]
_OFF = 0  # flash attention
ATTENTION = "plain attention"
"""Another kind could not take up this one's states."""
ASK_S = 0.1
"""Seconds between two calls of `cancelled` within a batch."""
_DONTNEED = 4  # MADV_DONTNEED: of a file, what is mapped is forgotten and can be read again


class Llama:
    """One model with at most one adapter, and one sequence of tokens that it has read.

    `cancelled`, of the answer in hand, is called before each batch and every `ASK_S` within one.

    Args:
        model, adapter: GGUF files.
        context: the most tokens of the sequence.
        batch: the most tokens that are read at once.

    Raises:
        EngineMisconfigured: the package is another than the locked one, or a file can't be loaded.
    """

    def __init__(
        self, model: Path, adapter: Path | None = None, *, context: int, batch: int = 128, threads: int = 2
    ) -> None:
        self.batch, self.context = batch, context
        self._c = library()
        loaded = self._c.llama_model_load_from_file(str(model).encode(), self._c.llama_model_default_params())
        if not loaded:
            raise EngineMisconfigured(
                f"{model.name} can't be loaded", hint="`saycart models fetch` fetches it again."
            )
        params = self._c.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch, params.n_seq_max = context, batch, batch, 1
        # Its flash attention takes a CPU longer than the plain one, and is no nearer to the model (ADR 69).
        params.flash_attn = _OFF
        params.n_outputs_max = params.n_outputs_max_per_seq = batch
        params.n_threads = params.n_threads_batch = threads
        self._context = self._c.llama_init_from_model(loaded, params)
        if not self._context:
            raise EngineMisconfigured(f"There is no room for a context of {context} tokens")
        self.cancelled: Callable[[], bool] = lambda: False
        self._asked_at = 0.0
        self._abort = ABORT(self._is_over)  # kept here: the library calls it within each batch
        self._c.llama_set_abort_callback(self._context, self._abort, None)
        release_pages(model)
        self._adapter = self._loaded(loaded, adapter) if adapter is not None else None
        self.adapt(on=True)
        self.vocabulary = ModelVocabulary(loaded)
        self._template = self._c.llama_model_chat_template(loaded, None)
        self._memory = self._c.llama_get_memory(self._context)
        self._batch = self._c.llama_batch_init(batch, 0, 1)

    def chat(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """Return the tokens of a chat by the model's own template, up to where an answer begins."""
        turns = (ChatMessage * len(messages))(
            *(ChatMessage(m["role"].encode(), m["content"].encode()) for m in messages)
        )
        room = 256 + 2 * sum(len(m["content"].encode()) for m in messages)
        text = c.create_string_buffer(room)
        size = self._c.llama_chat_apply_template(self._template, turns, len(messages), True, text, room)
        if not 0 <= size <= room:
            raise EngineMisconfigured("The model has no chat template that llama.cpp knows")
        return self.vocabulary.tokenize(text.raw[:size].decode(), special=True)

    def read(self, tokens: Sequence[int], at: int, wanted: int = 0) -> list[Row]:
        """Read at most `batch` tokens from position `at` on; the logits behind each of the last `wanted`, in
        memory that the next call writes to. What was there from `at` on is to be `cut` before.

        Raises:
            DecodeCancelled: `cancelled` returned True; these tokens are not read.
            EngineMisconfigured: the sequence has no room for them.
        """
        batch, count = self._batch, len(tokens)
        batch.n_tokens = count
        for index, token in enumerate(tokens):
            batch.token[index], batch.pos[index] = token, at + index
            batch.n_seq_id[index], batch.seq_id[index][0] = 1, 0
            batch.logits[index] = index >= count - wanted
        if self.cancelled() or (failed := self._c.llama_decode(self._context, batch)) == ABORTED:
            raise DecodeCancelled("The client closed its connection")
        if failed:
            raise EngineMisconfigured(f"{at + count} tokens are more than the reader's context")
        rows = (self._c.llama_get_logits_ith(self._context, n) for n in range(count - wanted, count))
        return [np.ctypeslib.as_array(row, (self.vocabulary.size,)) for row in rows]

    def _is_over(self, _data: object) -> bool:
        if (now := time.monotonic()) < self._asked_at + ASK_S:
            return False
        self._asked_at = now
        return self.cancelled()

    def cut(self, at: int) -> None:
        """Forget what was read from position `at` on."""
        self._c.llama_memory_seq_rm(self._memory, 0, at, -1)

    def state(self) -> bytes:
        """What was read, to be had again by `restore`: some 28 kB a token of the 1.5B."""
        size = self._c.llama_state_seq_get_size(self._context, 0)
        room = c.create_string_buffer(size)
        written = self._c.llama_state_seq_get_data(self._context, room, size, 0)
        return room.raw[:written]

    def restore(self, state: bytes) -> bool:
        """Whether a state could be taken up; if not, nothing is read."""
        self.cut(0)
        if self._c.llama_state_seq_set_data(self._context, state, len(state), 0):
            return True
        self.cut(0)
        return False

    def adapt(self, *, on: bool) -> None:
        """Whether the adapter, if there is one, is at work from here on. What was read stays, and is to be
        `cut`: it was read the other way."""
        if self._adapter is None:
            return
        one, scale = (c.c_void_p * 1)(self._adapter), (c.c_float * 1)(1.0)
        if self._c.llama_set_adapters_lora(self._context, one, int(on), scale):
            raise EngineMisconfigured("The adapter is none of this model")

    def _loaded(self, model: int, adapter: Path) -> int:
        loaded: int | None = self._c.llama_adapter_lora_init(model, str(adapter).encode())
        if not loaded:
            raise EngineMisconfigured(f"{adapter.name} is no adapter of this model")
        return loaded


def release_pages(file: Path) -> None:
    """Give back the pages of this process that map `file`; where there is no such call, nothing happens.

    llama.cpp maps a model's file and repacks most of it into memory of its own. What it read for that stays
    resident: 0.6 GB of the 1.5B. What is still needed comes again from the system's cache of files.
    """
    try:
        maps = Path("/proc/self/maps").read_text()
        madvise = c.CDLL(None).madvise
    except (OSError, AttributeError):
        return
    name = str(file.resolve())
    for line in maps.splitlines():
        if line.endswith(name):
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            madvise(c.c_void_p(begin), c.c_size_t(end - begin), _DONTNEED)
