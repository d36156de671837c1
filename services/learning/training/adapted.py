"""The base model and its LoRA adapter, for the scripts in this folder."""

from __future__ import annotations

import os
import types
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
from peft.tuners.lora import Linear as LoraLinear
from safetensors.torch import load_file
from torch.nn.functional import linear, pad

LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def base_model(path: Path, device: str, attention: str = "sdpa") -> Any:
    """Load the base in bfloat16, from a GGUF or a folder of safetensors."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoModelForCausalLM

    options: dict[str, Any] = {"dtype": torch.bfloat16, "attn_implementation": attention}
    if path.is_dir():
        return AutoModelForCausalLM.from_pretrained(path, **options).to(device)
    from transformers import GgufConfig

    dequantized = GgufConfig(dequantize=True)
    return AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, quantization_config=dequantized, **options
    ).to(device)


def with_adapter(model: Any, rank: int, name: str) -> Any:
    """Add a new adapter in float32 to all linear layers; `name` is the base model's name in its config."""
    config = LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=LAYERS, task_type="CAUSAL_LM"
    )
    wrapped = get_peft_model(model, config)
    for parameter in wrapped.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    for module in wrapped.modules():
        if isinstance(module, LoraLinear):
            module.forward = types.MethodType(_forward, module)
    config.base_model_name_or_path = name  # peft would write a local path
    return wrapped


def _forward(self: Any, x: torch.Tensor) -> torch.Tensor:
    """Compute a linear layer with its adapter in the dtype of `x`. peft's own version copies `x`, the largest
    tensors of a step, to float32."""
    down, up = self.lora_A["default"].weight, self.lora_B["default"].weight * self.scaling["default"]
    base = linear(x, self.base_layer.weight, self.base_layer.bias)
    return base + linear(linear(x, down.to(x.dtype)), up.to(x.dtype))


def start_from(model: Any, folder: Path, rank: int) -> None:
    """Initialize the adapter from one of at most this rank. Added rows keep their random values and added
    columns are zero, so that its answers don't change."""
    loaded = load_file(folder / "adapter_model.safetensors")
    initial = {name.replace(".default", ""): value for name, value in model.state_dict().items()}
    for name, value in loaded.items():
        if "lora_A" in name:
            random_rows = initial[name].to(value)[value.shape[0] :]
            loaded[name] = torch.cat([value, random_rows])
        else:
            loaded[name] = pad(value, (0, rank - value.shape[1]))
    set_peft_model_state_dict(model, loaded)
