"""The server that an example's command asks: one that runs, or the embedded one while the command does."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.settings import settings
from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import Completions
from services.engines.servers.embedded import decode_server


def folder(out: Path, engine: Completions) -> Path:
    """Where under `out` the answers of one server and model are kept: never another's."""
    return out / f"{engine.dialect}-{engine.model.removesuffix('.gguf').replace('/', '-')}"


def add_server(parser: argparse.ArgumentParser) -> None:
    """`--model`, `--url` and `--dialect`."""
    parser.add_argument("--model", default="", help="a name in the model lock, in place of the default model")
    parser.add_argument("--url", default="", help="a server that runs, in place of the embedded one")
    parser.add_argument("--dialect", default="llama.cpp", choices=["llama.cpp", "vllm"])


@contextmanager
def serving(args: argparse.Namespace) -> Iterator[Completions]:
    """What `add_server` was told, ready to be asked. The learned reader of orders is not loaded.

    Raises:
        ModelError: the model is not here.
        SupervisorError: the embedded server did not start.
    """
    config = settings()
    said = {"llm_url": args.url, "llm_dialect": args.dialect, "llm_model": args.model or config.llm_model}
    with decode_server(config.model_copy(update={**said, "reader": "off"})) as here:
        calls = Calls(here.llm_url, timeout_s=here.llm_timeout_s, api_key=here.llm_api_key)
        yield Completions(calls, here.llm_dialect, here.llm_model)
