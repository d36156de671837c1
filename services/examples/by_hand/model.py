"""Logits of a real model, from the embedded llama.cpp server.

Neither its HTTP interface nor the `xllamacpp` wheel (whose `Server.handle_completions` is the same without
HTTP) hands out logits. `/completion` does hand out, for one token to write, the log-probability of every
token of the vocabulary, taken before any sampling: the logit less log Σ exp(logits). That is one constant for
all tokens of a step, and softmax takes constants out again, so temperature, top-p and draw come to the same.
A repetition penalty does not: it asks whether a logit is above 0. What is less likely than a float can hold
comes as −3.4e38.

Cost: 4.7 MB of JSON a token, 0.2 to 0.5 s with SmolLM2 135M on two busy cores. A product lets its server
mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from pydantic_core import from_json

from infra.settings import settings
from infra.weights.models import resolve
from schemas.errors import EngineMisconfigured, EngineUnavailable
from services.engines.servers.embedded import decode_server
from services.examples.by_hand.steps import Logits

SMALL = "smollm2-135m-instruct-q4_1.gguf"
CONTEXT = 1024
_TIMEOUT_S = 60.0


class ServedModel:
    """A `decode.Model`. `size` is that of the vocabulary, `key` what the server asks for."""

    def __init__(self, url: str, size: int, key: str) -> None:
        header = {"Authorization": f"Bearer {key}"}
        self._client = httpx.Client(base_url=url, headers=header, timeout=_TIMEOUT_S, trust_env=False)
        self._size = size

    def prompt(self, *messages: tuple[str, str]) -> list[int]:
        """The token ids of (role, text) pairs in the model's own chat form, ready for its answer."""
        chat = [{"role": role, "content": text} for role, text in messages]
        shown = self._ask("/apply-template", {"messages": chat})["prompt"]
        return list(self._ask("/tokenize", {"content": shown, "parse_special": True})["tokens"])

    def logits(self, ids: Sequence[int]) -> Logits:
        """Raises EngineUnavailable without an answer, EngineMisconfigured for one of another shape."""
        body = {
            "prompt": list(ids),
            "n_predict": 1,
            "n_probs": self._size,
            "post_sampling_probs": False,  # before the server's own samplers
            "temperature": 0,
            "cache_prompt": True,  # so that each step reads one token, not all
            "response_fields": ["completion_probabilities"],
        }
        answer = self._ask("/completion", body)
        try:
            rows = answer["completion_probabilities"][0]["top_logprobs"]
            found = np.full(self._size, -np.inf)
            found[[row["id"] for row in rows]] = [row["logprob"] for row in rows]
        except (KeyError, IndexError, TypeError) as error:
            raise EngineMisconfigured(
                f"The server's answer has no log-probabilities: {error!r:.100}",
                hint="Serve the model with this installation's llama.cpp.",
            ) from None
        return found

    def write(self, ids: Sequence[int], limit: int) -> tuple[str, int, bool]:
        """The answer that the server writes by itself, greedily and without a mask: its text, its number of
        tokens, and whether it ended before `limit`. Raises as `logits`."""
        body = {"prompt": list(ids), "n_predict": limit, "temperature": 0, "cache_prompt": True}
        answer = self._ask("/completion", body)
        return answer["content"], answer["tokens_predicted"], answer["stop_type"] == "eos"

    def close(self) -> None:
        self._client.close()

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        try:
            return from_json(self._client.post(path, json=body).raise_for_status().content)
        except (httpx.HTTPError, ValueError) as error:
            raise EngineUnavailable(f"The model's server did not answer {path}: {error!r:.100}") from None


def small_model() -> Path:
    """The file of SmolLM2 135M in the models' folder. Raises ModelError where it was not fetched."""
    return Path(resolve(SMALL, settings().models_dir))


@contextmanager
def served(size: int) -> Iterator[ServedModel]:
    """The small model in a server of its own, which ends with the block. Raises as `small_model`."""
    options = {"llm_url": "", "llm_model": SMALL, "llm_slots": 1, "llm_context": CONTEXT, "reader": "off"}
    with decode_server(settings().model_copy(update=options)) as config:
        model = ServedModel(config.llm_url, size, config.llm_api_key)
        try:
            yield model
        finally:
            model.close()
