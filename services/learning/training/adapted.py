"""The base model and the LoRA adapter that learns on it. For the scripts in this folder."""

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
    """The base in bfloat16, from a GGUF or a folder of safetensors."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoModelForCausalLM

    chosen: dict[str, Any] = {"dtype": torch.bfloat16, "attn_implementation": attention}
    if path.is_dir():
        return AutoModelForCausalLM.from_pretrained(path, **chosen).to(device)
    from transformers import GgufConfig

    unpacked = GgufConfig(dequantize=True)
    return AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, quantization_config=unpacked, **chosen
    ).to(device)


def with_adapter(model: Any, rank: int, name: str) -> Any:
    """`model` with a fresh adapter in float32, on all linear layers; `name` is what the adapter calls it."""
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
    config.base_model_name_or_path = name  # peft would write the path on this machine
    return wrapped


def _forward(self: Any, x: torch.Tensor) -> torch.Tensor:
    """A linear layer and its adapter, all products in the type of `x`. peft's own copies `x` to float32 for
    the adapter, the largest tensors of a step."""
    down, up = self.lora_A["default"].weight, self.lora_B["default"].weight * self.scaling["default"]
    whole = linear(x, self.base_layer.weight, self.base_layer.bias)
    return whole + linear(linear(x, down.to(x.dtype)), up.to(x.dtype))


def start_from(model: Any, folder: Path, rank: int) -> None:
    """Go on from an adapter of at most this rank: the rows that it lacks come in as they were drawn, the
    columns as zeros, so that it answers as before."""
    begun = load_file(folder / "adapter_model.safetensors")
    known = {name.replace(".default", ""): value for name, value in model.state_dict().items()}
    for name, value in begun.items():
        if "lora_A" in name:
            drawn = known[name].to(value)[value.shape[0] :]
            begun[name] = torch.cat([value, drawn])
        else:
            begun[name] = pad(value, (0, rank - value.shape[1]))
    set_peft_model_state_dict(model, begun)
