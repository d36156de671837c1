"""The tokenizers of the lock's models."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from llguidance import LLTokenizer

from infra.settings import settings
from infra.weights.models import resolve
from services.decoding.server.llama import library
from services.decoding.server.vocabulary import ModelVocabulary


@cache
def tokenizer_of(model: str) -> LLTokenizer:
    """The tokenizer of a model of the lock. Raises ModelError where its weights are not here."""
    file = Path(resolve(model, settings().models_dir))
    params = library().llama_model_default_params()
    params.vocab_only = True
    # Never freed: llguidance goes on to call its tokenizer.
    return ModelVocabulary(library().llama_model_load_from_file(str(file).encode(), params)).tokenizer()
