"""llama.cpp's C functions, which `model.py` and `vocabulary.py` call.

Its server says how likely a token was that it drew, and nothing of a text that it is given
(`server-context.cpp`, b11549). The package that brings the server exports the C functions too, and they do:
https://github.com/ggml-org/llama.cpp/blob/master/include/llama.h

The structures below are those of that build's header. Those that go by value are made by the library and
changed in a few fields, and what it made is looked at, so that a package with other ones is refused.
"""

from __future__ import annotations

import ctypes as c
import sys
from functools import cache
from typing import Any

from schemas.errors import EngineMisconfigured

_HINT = "Run `make setup` again: the locked package is needed."
_LIBGOMP = "The system's libgomp is missing: apt-get install libgomp1"
_ERROR = 4  # ggml's level
_OF_AN_ABORT = (b"error 1\n", b"status: 1\n", b"ret = 2\n")  # three lines for each; 1 is ggml's own code
_AS_IT_LIKES = -1  # flash attention


class _ModelParams(c.Structure):
    _fields_ = (
        ("devices", c.c_void_p),
        ("tensor_buft_overrides", c.c_void_p),
        ("n_gpu_layers", c.c_int32),
        ("split_mode", c.c_int),
        ("load_mode", c.c_int),
        ("lazy_mode", c.c_int),
        ("main_gpu", c.c_int32),
        ("tensor_split", c.c_void_p),
        ("progress_callback", c.c_void_p),
        ("progress_callback_user_data", c.c_void_p),
        ("kv_overrides", c.c_void_p),
        ("vocab_only", c.c_bool),
        ("check_tensors", c.c_bool),
        ("use_extra_bufts", c.c_bool),
        ("no_host", c.c_bool),
        ("no_alloc", c.c_bool),
        ("load_mtp", c.c_bool),
        ("beyond", c.c_byte * 64),  # room, should a build's be longer
    )


class _ContextParams(c.Structure):
    _fields_ = (
        ("n_ctx", c.c_uint32),
        ("n_batch", c.c_uint32),
        ("n_ubatch", c.c_uint32),
        ("n_seq_max", c.c_uint32),
        ("n_rs_seq", c.c_uint32),
        ("n_outputs_max", c.c_uint32),
        ("n_outputs_max_per_seq", c.c_uint32),
        ("n_threads", c.c_int32),
        ("n_threads_batch", c.c_int32),
        ("kinds", c.c_int32 * 4),  # of context, rope, pooling and attention
        ("flash_attn", c.c_int32),
        ("beyond", c.c_byte * 236),  # of which nothing is changed
    )


class _Batch(c.Structure):
    _fields_ = (
        ("n_tokens", c.c_int32),
        ("token", c.POINTER(c.c_int32)),
        ("embd", c.c_void_p),
        ("pos", c.POINTER(c.c_int32)),
        ("n_seq_id", c.POINTER(c.c_int32)),
        ("seq_id", c.POINTER(c.POINTER(c.c_int32))),
        ("logits", c.POINTER(c.c_int8)),
    )


class ChatMessage(c.Structure):
    _fields_ = (("role", c.c_char_p), ("content", c.c_char_p))


_LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


def _tell(level: int, text: bytes, _about: int) -> None:
    """Errors alone: the rest is hundreds of lines a start."""
    if level == _ERROR and not text.endswith(_OF_AN_ABORT):
        sys.stderr.buffer.write(text)


_log = _LOG(_tell)  # kept here: the library calls it for as long as it lives
ABORT = c.CFUNCTYPE(c.c_bool, c.c_void_p)
ABORTED = 2  # what `llama_decode` returns then


# Function -> type of its result and of its arguments.
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_log_set": (None, (_LOG, c.c_void_p)),
    "llama_model_default_params": (_ModelParams, ()),
    "llama_context_default_params": (_ContextParams, ()),
    "llama_model_load_from_file": (c.c_void_p, (c.c_char_p, _ModelParams)),
    "llama_init_from_model": (c.c_void_p, (c.c_void_p, _ContextParams)),
    "llama_set_abort_callback": (None, (c.c_void_p, ABORT, c.c_void_p)),
    "llama_adapter_lora_init": (c.c_void_p, (c.c_void_p, c.c_char_p)),
    "llama_set_adapters_lora": (
        c.c_int32,
        (c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(c.c_float)),
    ),
    "llama_model_get_vocab": (c.c_void_p, (c.c_void_p,)),
    "llama_model_chat_template": (c.c_char_p, (c.c_void_p, c.c_char_p)),
    "llama_vocab_n_tokens": (c.c_int32, (c.c_void_p,)),
    "llama_vocab_eos": (c.c_int32, (c.c_void_p,)),
    "llama_vocab_get_attr": (c.c_int, (c.c_void_p, c.c_int32)),
    "llama_get_memory": (c.c_void_p, (c.c_void_p,)),
    "llama_memory_seq_rm": (c.c_bool, (c.c_void_p, c.c_int32, c.c_int32, c.c_int32)),
    "llama_batch_init": (_Batch, (c.c_int32, c.c_int32, c.c_int32)),
    "llama_decode": (c.c_int32, (c.c_void_p, _Batch)),
    "llama_get_logits_ith": (c.POINTER(c.c_float), (c.c_void_p, c.c_int32)),
    "llama_tokenize": (
        c.c_int32,
        (c.c_void_p, c.c_char_p, c.c_int32, c.POINTER(c.c_int32), c.c_int32, c.c_bool, c.c_bool),
    ),
    "llama_token_to_piece": (
        c.c_int32,
        (c.c_void_p, c.c_int32, c.c_char_p, c.c_int32, c.c_int32, c.c_bool),
    ),
    "llama_chat_apply_template": (
        c.c_int32,
        (c.c_char_p, c.POINTER(ChatMessage), c.c_size_t, c.c_bool, c.c_char_p, c.c_int32),
    ),
    "llama_state_seq_get_size": (c.c_size_t, (c.c_void_p, c.c_int32)),
    "llama_state_seq_get_data": (c.c_size_t, (c.c_void_p, c.c_char_p, c.c_size_t, c.c_int32)),
    "llama_state_seq_set_data": (c.c_size_t, (c.c_void_p, c.c_char_p, c.c_size_t, c.c_int32)),
}


@cache
def library() -> Any:
    """Return the package's functions. Raises EngineMisconfigured where its structures are not those above."""
    try:
        import xllamacpp

        exported = c.CDLL(xllamacpp.xllamacpp.__file__)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(exported, name)
            function.restype, function.argtypes = result, arguments
    except (ImportError, AttributeError, OSError) as error:
        hint = _LIBGOMP if "libgomp" in str(error) else _HINT
        raise EngineMisconfigured(f"llama.cpp can't be reached: {error!r:.200}", hint=hint) from None
    exported.llama_log_set(_log, None)
    model, context = exported.llama_model_default_params(), exported.llama_context_default_params()
    as_made = (
        *(model.use_extra_bufts, model.vocab_only, model.no_alloc),
        *(context.n_ctx, context.n_ubatch, context.flash_attn),
    )
    if as_made != (True, False, False, 512, 512, _AS_IT_LIKES) or not 0 < context.n_threads <= 512:
        raise EngineMisconfigured(f"This llama.cpp has other structures: it made {as_made}", hint=_HINT)
    return exported
