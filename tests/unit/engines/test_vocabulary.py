"""A model's own tokenizer is read as its server reads it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from infra.settings import settings as configured
from infra.weights.models import resolve
from schemas.errors import EngineMisconfigured
from services.engines.masks.vocabulary import read_vocabulary
from services.engines.servers.gguf import metadata

MODEL = "smollm2-135m-instruct-q4_1.gguf"


def text_of(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


@pytest.mark.models
def test_a_gguf_files_tokenizer_has_the_models_own_numbers() -> None:
    file = Path(resolve(MODEL, configured().models_dir))
    vocabulary, head = read_vocabulary(file), metadata(file)
    tokens = vocabulary.tokenizer()
    assert tokens.vocab_size == len(head["tokenizer.ggml.tokens"]) == vocabulary.size
    assert tokens.eos_token == head["tokenizer.ggml.eos_token_id"]
    for text in ("two", "large", "{"):
        assert tokens.tokenize_str(text) == [head["tokenizer.ggml.tokens"].index(text)]
    assert tokens.is_special_token(head["tokenizer.ggml.tokens"].index("<|im_end|>"))


@pytest.mark.models
@pytest.mark.parametrize(
    "text",
    ["café", "cafe\u0301", "🍵", "👨‍👩‍👧", "½ ﬁ ß", "中文", "שלום", '"quoted"', "back\\slash", "10,000"],
)
def test_awkward_strings_come_back_whole(text: str) -> None:
    tokens = read_vocabulary(Path(resolve(MODEL, configured().models_dir))).tokenizer()
    assert tokens.decode_bytes(tokens.tokenize_str(text)) == text.encode()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"GGUF", b"junk" * 10, b"GGUF" + struct.pack("<IQQ", 9, 0, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text_of("a") + struct.pack("<I", 99),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + text_of("a") + struct.pack("<II", 4, 1),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text_of("tokenizer.ggml.model") + struct.pack("<I", 8)
        + text_of("llama"),
    ],
    ids=["empty", "cut", "other", "version", "kind", "cut pairs", "family"],
)  # fmt: skip
def test_a_file_that_holds_no_known_tokenizer_is_an_error_with_a_hint(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    with pytest.raises(EngineMisconfigured) as caught:
        read_vocabulary(file)
    assert caught.value.hint
