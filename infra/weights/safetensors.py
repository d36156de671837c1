"""GGUF weights -> a folder of safetensors with tokenizer and chat template, as vLLM loads them.

Converting runs in vLLM's environment, where this file is a program: torch and transformers are not in ours.
The quantised weights are unpacked to bfloat16, so both engines compute with the same rounded weights.

The tokenizer's end is written as the GGUF names it. Some versions of transformers (5.17) write another in
its place, `<|endoftext|>` for `<|im_end|>`. The model then still ends its answers, but vLLM's masks allow the
tokenizer's end alone: no answer under a mask can end, and goes on until it may grow no more.

Cost, for 0.5B: 81 s on one busy core, 3 GB of memory, 1.3 GB on disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def weights(model: str, models_dir: Path, python: Path) -> tuple[str, str]:
    """What vLLM, of the interpreter `python`, is to load for a model's name, and the name to serve it under;
    converts a GGUF once, next to it.

    Raises:
        ModelError: the weights are not here, or can't be converted.
    """
    from infra.weights.lock import ModelError  # not in vLLM's environment
    from infra.weights.models import resolve

    path = Path(resolve(model, models_dir))
    if path.suffix != ".gguf":
        return str(path), path.name if path.exists() else model  # a hub's name is both
    folder = models_dir / "safetensors" / path.stem
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        print(f"Turning {path.name} into safetensors, once: about a minute for 0.5B", flush=True)
        # -P: else the script's folder goes first on the path, and its `gguf` is found for the library's.
        if subprocess.run([python, "-P", __file__, path, folder], check=False).returncode:
            raise ModelError(
                f"{path.name} could not be turned into safetensors (see the lines above).",
                hint="Has the environment gguf and accelerate? `make vllm-weights` builds it.",
            )
    return str(folder), path.name


def convert(gguf: Path, folder: Path) -> None:
    """Write `folder`, whole or not at all. Raises what transformers raises for a file that it can't read."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # a GGUF brings all: nothing is looked up
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    unfinished = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
    )
    model.save_pretrained(unfinished)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(model.config.eos_token_id)
    tokenizer.save_pretrained(unfinished)
    unfinished.rename(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
