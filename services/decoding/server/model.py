"""A llama.cpp model with an optional LoRA adapter, its KV cache, and its logits.

Cost, 1.5B in 4 bits on 2 threads: 1.2 GB; 20 to 25 ms per token in batches of 128, 32 in one of 30, 77 alone.
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
_FLASH_ATTENTION_OFF = 0
ATTENTION = "plain attention"
"""Saved states can only be restored with the same kind."""
CANCEL_CHECK_S = 0.1
"""Seconds between calls of `cancelled` within a batch."""
_DONTNEED = 4  # MADV_DONTNEED: drops mapped pages, which can be read from the file again


class Llama:
    """A model with at most one adapter and one sequence of tokens in its KV cache.

    `cancelled` belongs to the current answer, and is called before each batch and every `CANCEL_CHECK_S`
    within one.

    Args:
        model, adapter: GGUF files.
        context: the longest sequence, in tokens.
        batch: the most tokens of one call of `evaluate`.

    Raises:
        EngineMisconfigured: not the locked package, or a file can't be loaded.
    """

    def __init__(
        self, model: Path, adapter: Path | None = None, *, context: int, batch: int = 128, threads: int = 2
    ) -> None:
        self.batch, self.context = batch, context
        self._c = library()
        loaded = self._c.llama_model_load_from_file(str(model).encode(), self._c.llama_model_default_params())
        if not loaded:
            raise EngineMisconfigured(
                f"{model.name} can't be loaded", hint="Fetch it again: `saycart models fetch`."
            )
        params = self._c.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch, params.n_seq_max = context, batch, batch, 1
        # On a CPU flash attention is slower, and no more exact (ADR 69).
        params.flash_attn = _FLASH_ATTENTION_OFF
        params.n_outputs_max = params.n_outputs_max_per_seq = batch
        params.n_threads = params.n_threads_batch = threads
        self._context = self._c.llama_init_from_model(loaded, params)
        if not self._context:
            raise EngineMisconfigured(f"Not enough memory for a context of {context} tokens")
        self.cancelled: Callable[[], bool] = lambda: False
        self._checked_at = 0.0
        self._abort = ABORT(self._should_abort)  # referenced, since the library calls it in each batch
        self._c.llama_set_abort_callback(self._context, self._abort, None)
        release_pages(model)
        self._adapter = self._load_adapter(loaded, adapter) if adapter is not None else None
        self.set_adapter(on=True)
        self.vocabulary = ModelVocabulary(loaded)
        self._template = self._c.llama_model_chat_template(loaded, None)
        self._memory = self._c.llama_get_memory(self._context)
        self._batch = self._c.llama_batch_init(batch, 0, 1)

    def chat_tokens(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """Return the tokens of a chat in the model's own template, up to the start of the answer."""
        turns = (ChatMessage * len(messages))(
            *(ChatMessage(m["role"].encode(), m["content"].encode()) for m in messages)
        )
        capacity = 256 + 2 * sum(len(m["content"].encode()) for m in messages)
        text = c.create_string_buffer(capacity)
        size = self._c.llama_chat_apply_template(self._template, turns, len(messages), True, text, capacity)
        if not 0 <= size <= capacity:
            raise EngineMisconfigured("llama.cpp does not know the model's chat template")
        return self.vocabulary.tokenize(text.raw[:size].decode(), special=True)

    def evaluate(self, tokens: Sequence[int], at: int, rows: int = 0) -> list[Row]:
        """Evaluate at most `batch` tokens at the end of the sequence, from position `at`. Return the logits
        after each of the last `rows` tokens, in memory that the next call overwrites.

        Raises:
            DecodeCancelled: `cancelled` returned True.
            EngineMisconfigured: the sequence would exceed the context.
        """
        batch, count = self._batch, len(tokens)
        batch.n_tokens = count
        for index, token in enumerate(tokens):
            batch.token[index], batch.pos[index] = token, at + index
            batch.n_seq_id[index], batch.seq_id[index][0] = 1, 0
            batch.logits[index] = index >= count - rows
        if self.cancelled() or (failed := self._c.llama_decode(self._context, batch)) == ABORTED:
            raise DecodeCancelled("The client closed its connection")
        if failed:
            raise EngineMisconfigured(f"{at + count} tokens exceed the engine's context")
        logits = (self._c.llama_get_logits_ith(self._context, n) for n in range(count - rows, count))
        return [np.ctypeslib.as_array(row, (self.vocabulary.size,)) for row in logits]

    def _should_abort(self, _data: object) -> bool:
        if (now := time.monotonic()) < self._checked_at + CANCEL_CHECK_S:
            return False
        self._checked_at = now
        return self.cancelled()

    def truncate(self, length: int) -> None:
        """Drop the tokens from position `length`."""
        self._c.llama_memory_seq_rm(self._memory, 0, length, -1)

    def state(self) -> bytes:
        """Return the sequence's state for `restore`, about 28 kB per token for the 1.5B model."""
        size = self._c.llama_state_seq_get_size(self._context, 0)
        buffer = c.create_string_buffer(size)
        written = self._c.llama_state_seq_get_data(self._context, buffer, size, 0)
        return buffer.raw[:written]

    def restore(self, state: bytes) -> bool:
        """Replace the sequence by a saved state. Return False, and leave it empty, if llama.cpp can't."""
        self.truncate(0)
        if self._c.llama_state_seq_set_data(self._context, state, len(state), 0):
            return True
        self.truncate(0)
        return False

    def set_adapter(self, *, on: bool) -> None:
        """Enable or disable the adapter, if there is one. Truncate the sequence first: its tokens were
        evaluated with the other setting."""
        if self._adapter is None:
            return
        one, scale = (c.c_void_p * 1)(self._adapter), (c.c_float * 1)(1.0)
        if self._c.llama_set_adapters_lora(self._context, one, int(on), scale):
            raise EngineMisconfigured("The adapter does not fit the model")

    def _load_adapter(self, model: int, adapter: Path) -> int:
        loaded: int | None = self._c.llama_adapter_lora_init(model, str(adapter).encode())
        if not loaded:
            raise EngineMisconfigured(f"{adapter.name} is not an adapter of this model")
        return loaded


def release_pages(file: Path) -> None:
    """Release the pages of this process that map `file`, on systems that can.

    llama.cpp maps a model's file and repacks most of it into other memory, but the mapped pages stay
    resident: 0.6 GB for the 1.5B model. Pages that are still needed return from the page cache.
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
