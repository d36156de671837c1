"""A model's own tokenizer, for llguidance: from the vocabulary in a GGUF file, or from a `tokenizer.json`.

llguidance reads the `tokenizer.json` of Hugging Face; a GGUF file holds the same tokens and merges, and only
the name of the rule by which text is split before merging. The rules known here are those of the models in
the lock and their kin.

Cost: about 1 s and 100 MB for 152,000 tokens, most of it inside llguidance.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llguidance import LLTokenizer

from schemas.errors import EngineMisconfigured
from services.decoding.hosts.gguf import metadata

# Kinds of token, by GGUF's numbers.
_CONTROL, _USER_DEFINED, _UNUSED = 3, 4, 5
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{digits}|"
    r" ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
_GPT2 = {**_BYTES, "use_regex": True}


def _split(regex: str) -> list[dict[str, Any]]:
    rule = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    return [rule, _BYTES]


# How text is cut before merging, by the name that llama.cpp gives to each way.
SPLITS: dict[str, list[dict[str, Any]]] = {
    "qwen2": _split(_WORDS.format(digits="")),
    "llama-bpe": _split(_WORDS.format(digits="{1,3}")),
    "smollm": [{"type": "Digits", "individual_digits": True}, _GPT2],
    "gpt-2": [_GPT2],
    "default": [_GPT2],
}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer as text. `size` counts every row of the model's output, `end` is the token that ends it."""

    name: str
    document: str
    size: int
    end: int

    def tokenizer(self) -> LLTokenizer:
        """Raises EngineMisconfigured where llguidance can't use it."""
        try:
            return LLTokenizer(self.document, n_vocab=self.size, eos_token=self.end)
        except ValueError as error:
            raise EngineMisconfigured(
                f"llguidance can't use the tokenizer of {self.name}: {error!s:.200}",
                hint="Serve a model with a byte-level BPE tokenizer.",
            ) from None


def read_vocabulary(path: Path) -> Vocabulary:
    """The tokenizer of a GGUF file, a `tokenizer.json`, or a folder that holds one.

    Raises:
        EngineMisconfigured: no such file, not whole, or of a kind that is not known here.
    """
    if path.is_dir():
        path = path / "tokenizer.json"
    if path.suffix == ".json":
        return _from_json(path)
    return _from_gguf(path)


def _from_gguf(path: Path) -> Vocabulary:
    head = metadata(path)
    family, split = head.get("tokenizer.ggml.model"), head.get("tokenizer.ggml.pre", "default")
    if family != "gpt2" or split not in SPLITS:
        raise EngineMisconfigured(
            f"{path.name} has a tokenizer of the kind {family}/{split}, which is not known here",
            hint="Give the model's tokenizer.json with --tokenizer.",
        )
    tokens, kinds = head["tokenizer.ggml.tokens"], head["tokenizer.ggml.token_type"]
    added = [
        {"id": number, "content": token, "special": kind == _CONTROL, "single_word": False,
         "lstrip": False, "rstrip": False, "normalized": False}
        for number, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (_CONTROL, _USER_DEFINED)
    ]  # fmt: skip
    # With the added ones: those that are not in it too would be given other numbers.
    vocabulary = {token: number for number, token in enumerate(tokens) if kinds[number] != _UNUSED}
    document = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,  # llama.cpp has none
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": SPLITS[split]},
        "decoder": _BYTES,
        "model": {
            "type": "BPE",
            "vocab": vocabulary,
            "merges": [merge.split(" ") for merge in head["tokenizer.ggml.merges"]],
        },
    }
    end = head["tokenizer.ggml.eos_token_id"]
    return Vocabulary(path.name, json.dumps(document), len(tokens), end)


def _from_json(path: Path) -> Vocabulary:
    """The end of an answer is named in `tokenizer_config.json` beside it."""
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
        named = json.loads((path.parent / "tokenizer_config.json").read_text(encoding="utf-8"))["eos_token"]
        ids = {**document["model"]["vocab"], **{t["content"]: t["id"] for t in document["added_tokens"]}}
        end = ids[named["content"] if isinstance(named, dict) else named]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineMisconfigured(
            f"No tokenizer could be read at {path}: {error!r:.100}",
            hint="Name a folder with tokenizer.json and tokenizer_config.json, or a GGUF file.",
        ) from None
    return Vocabulary(path.parent.name, text, max(ids.values()) + 1, end)
