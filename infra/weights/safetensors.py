"""Convert GGUF weights into a folder of safetensors with tokenizer and chat template, for vLLM.

The conversion runs as a script in vLLM's environment, since ours has no torch or transformers. The quantized
weights are unpacked to bfloat16, so both engines compute with the same rounded weights.

The end token is set to the GGUF's. Some versions of transformers (5.17) write `<|endoftext|>` instead of
`<|im_end|>`. vLLM's masks allow only the tokenizer's end token, which the model doesn't use, so masked
answers would run to their limit.

Cost, for 0.5B: 81 s on one busy core, 3 GB of memory, 1.3 GB on disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def weights(model: str, models_dir: Path, python: Path) -> tuple[str, str]:
    """Return the path that vLLM should load for a model, and the name to serve it under. Converts a GGUF
    once, next to it, with the interpreter `python`.

    Raises:
        ModelError: the weights are missing or can't be converted.
    """
    from infra.weights.lock import ModelError  # not in vLLM's environment
    from infra.weights.models import resolve

    path = Path(resolve(model, models_dir))
    if path.suffix != ".gguf":
        return str(path), path.name if path.exists() else model  # a hub's name serves as both
    folder = models_dir / "safetensors" / path.stem
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        print(f"Converting {path.name} to safetensors, once: about a minute for 0.5B", flush=True)
        # -P keeps the script's folder off the path: its modules could shadow libraries.
        if subprocess.run([python, "-P", __file__, path, folder], check=False).returncode:
            raise ModelError(
                f"{path.name} could not be converted to safetensors (see the lines above).",
                hint="Does the environment have gguf and accelerate? `make vllm-weights` builds it.",
            )
    return str(folder), path.name


def convert(gguf: Path, folder: Path) -> None:
    """Write `folder`, completely or not at all. Raises transformers' errors for an invalid file."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # a GGUF has everything
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
