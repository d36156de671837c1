"""Bindings to llama.cpp's C functions, for `model.py` and `vocabulary.py`.

llama.cpp's own server reports probabilities only for tokens that it sampled, not for a given text
(`server-context.cpp`, b11549). The package with that server also exports the C functions:
https://github.com/ggml-org/llama.cpp/blob/master/include/llama.h

The structures below match that build's header. The library fills in their defaults, which are checked, so
that a package with a different layout is rejected.
"""

from __future__ import annotations

import ctypes as c
import importlib.metadata
import sys
from functools import cache
from pathlib import Path
from typing import Any

from schemas.errors import EngineMisconfigured

_HINT = "Run `make setup` again: the locked package is needed."
_LIBGOMP = "libgomp is missing: apt-get install libgomp1"
_ERROR_LEVEL = 4  # of ggml
_ABORT_MESSAGES = (b"error 1\n", b"status: 1\n", b"ret = 2\n")  # a cancelled batch logs all three
_AUTO = -1  # flash attention


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
        ("reserve", c.c_byte * 64),  # in case a build's is longer
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
        ("types", c.c_int32 * 4),  # of context, RoPE scaling, pooling and attention
        ("flash_attn", c.c_int32),
        ("rest", c.c_byte * 236),  # unchanged
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


_LOG_CALLBACK = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


def _on_log(level: int, text: bytes, _data: int) -> None:
    """Print errors only: llama.cpp logs hundreds of lines at start."""
    if level == _ERROR_LEVEL and not text.endswith(_ABORT_MESSAGES):
        sys.stderr.buffer.write(text)


_log = _LOG_CALLBACK(_on_log)  # referenced, since the library calls it until the process ends
ABORT = c.CFUNCTYPE(c.c_bool, c.c_void_p)
ABORTED = 2  # returned by `llama_decode`


# Result and argument types by function.
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_log_set": (None, (_LOG_CALLBACK, c.c_void_p)),
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


def compiled() -> Path | None:
    """Return the folder of the library that `make engine` or the image's build compiled from the installed
    package's source (`infra/llama/compile.sh`); None if there is none for this processor."""
    folder = Path(sys.prefix, "lib", f"llama-{importlib.metadata.version('xllamacpp')}")
    processor = folder / "processor"
    if processor.exists() and processor.read_text() not in Path("/proc/cpuinfo").read_text():
        return None
    return folder if folder.exists() else None


def _load() -> Any:
    folder = compiled()
    if folder is not None:
        try:
            if list(folder.glob("libggml-cpu-*.so")):  # it takes the fastest that this processor can run
                c.CDLL(str(folder / "libggml.so")).ggml_backend_load_all_from_path(str(folder).encode())
            return c.CDLL(str(folder / "libllama.so"))
        except OSError as error:
            sys.stderr.write(f"The package's llama.cpp is used, since the compiled one fails: {error}\n")
    import xllamacpp

    return c.CDLL(xllamacpp.xllamacpp.__file__)


@cache
def library() -> Any:
    """Return the library; raises EngineMisconfigured if its structures differ from those above."""
    try:
        exported = _load()
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(exported, name)
            function.restype, function.argtypes = result, arguments
    except (ImportError, AttributeError, OSError) as error:
        hint = _LIBGOMP if "libgomp" in str(error) else _HINT
        raise EngineMisconfigured(f"llama.cpp can't be loaded: {error!r:.200}", hint=hint) from None
    exported.llama_log_set(_log, None)
    model, context = exported.llama_model_default_params(), exported.llama_context_default_params()
    defaults = (
        *(model.use_extra_bufts, model.vocab_only, model.no_alloc),
        *(context.n_ctx, context.n_ubatch, context.flash_attn),
    )
    if defaults != (True, False, False, 512, 512, _AUTO) or not 0 < context.n_threads <= 512:
        raise EngineMisconfigured(f"This build of llama.cpp has other structures: {defaults}", hint=_HINT)
    return exported
