"""Tokenizers of the models in the model lock."""

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
    """Load a model's tokenizer. Raises ModelError if its weights are missing."""
    file = Path(resolve(model, settings().models_dir))
    params = library().llama_model_default_params()
    params.vocab_only = True
    # Never freed: llguidance keeps calling its tokenizer.
    return ModelVocabulary(library().llama_model_load_from_file(str(file).encode(), params)).tokenizer()
