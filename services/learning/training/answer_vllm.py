"""What a model and its adapters answer to packed questions on vLLM, many at once. Runs as a file, where vLLM
and a GPU are.

    python answer_vllm.py FOLDER OUT [--adapter NAME=FOLDER]... --ask NAME HOW ASKED.json...

FOLDER has the base as safetensors. NAME is an adapter, or `base` for the model without one. HOW is `served`,
as the product asks vLLM: free first, and where the mask does not allow what came, again under it; or
`masked`, or `free`. Writes OUT/NAME-HOW-ASKED.jsonl, lines as `answer.py` writes them, with `tokens`, whether
it was asked again and then what it had written `free`ly, and prints how long each took.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llguidance.hf
from llguidance import LLMatcher

MOST = 400  # tokens of an answer
BASE, HOWS = "base", ("served", "masked", "free")


@dataclass(frozen=True, slots=True)
class Question:
    """An order's tokens behind its menu's, and its mask."""

    id: str
    part: str
    tokens: list[int]
    lark: str


def questions(file: Path) -> list[Question]:
    return [
        Question(order["id"], shop["part"], shop["menu"] + order["tokens"], order["lark"])
        for shop in json.loads(file.read_text())
        for order in shop["orders"]
    ]


class Engine:
    """vLLM in this process with its adapters, and a matcher for each mask."""

    def __init__(self, folder: Path, adapters: dict[str, Path], **more: Any) -> None:
        from vllm import LLM

        structured = {"backend": "guidance", "disable_any_whitespace": True}
        settings: dict[str, Any] = {
            "enable_lora": bool(adapters),
            "max_loras": max(1, len(adapters)),
            "max_lora_rank": 16,
            "max_model_len": 8192,
            "max_num_seqs": 256,
            "enable_prefix_caching": True,
            "generation_config": "vllm",
            "structured_outputs_config": structured,
        }
        self.llm = LLM(model=str(folder), **(settings | more))
        tokenizer = self.llm.get_tokenizer()
        self.end = int(tokenizer.convert_tokens_to_ids("<|im_end|>"))
        if tokenizer.eos_token_id != self.end:  # vLLM's masks allow the tokenizer's end alone
            raise SystemExit(f"The tokenizer in {folder} has another end: under a mask no answer would end")
        self._known = llguidance.hf.from_tokenizer(tokenizer, eos_token=self.end)
        self._adapters = {name: (number, path) for number, (name, path) in enumerate(adapters.items(), 1)}

    def ask(self, asked: Sequence[Question], adapter: str | None, *, masked: bool) -> list[Any]:
        """One answer each, greedily."""
        from vllm import SamplingParams
        from vllm.lora.request import LoRARequest
        from vllm.sampling_params import StructuredOutputsParams

        number, path = self._adapters[adapter] if adapter else (0, Path())
        chosen = [
            SamplingParams(
                temperature=0,
                max_tokens=MOST,
                logprobs=1,
                detokenize=True,
                structured_outputs=StructuredOutputsParams(grammar=one.lark) if masked else None,
            )
            for one in asked
        ]
        lora = LoRARequest(adapter, number, str(path)) if adapter else None
        prompts: Any = [{"prompt_token_ids": one.tokens} for one in asked]
        return [
            out.outputs[0] for out in self.llm.generate(prompts, chosen, lora_request=lora, use_tqdm=False)
        ]

    def allows(self, question: Question, tokens: Sequence[int]) -> bool:
        """Whether the mask lets an answer through, its end included."""
        matcher = LLMatcher(self._known, question.lark)
        return bool(matcher.validate_tokens(list(tokens)) == len(tokens) and tokens[-1] == self.end)


def row(question: Question, answer: Any, refused: Any = None) -> dict[str, Any]:
    """As `answer.py` writes it; `refused` is what the mask did not allow. What the model thinks of each token
    is without the mask where it wrote freely; of an answer under the mask, vLLM 0.26 seems to tell it of what
    the mask left."""
    chosen = [steps[token].logprob for token, steps in zip(answer.token_ids, answer.logprobs, strict=True)]
    best = [max(step.logprob for step in steps.values()) for steps in answer.logprobs]
    told = {
        "id": question.id,
        "part": question.part,
        "text": answer.text,
        "logprob": round(sum(chosen), 4),
        "least": round(min(chosen), 4),
        "overruled": sum(own < first for own, first in zip(chosen, best, strict=True)),
        "tokens": len(answer.token_ids),
        "again": refused is not None,
        "ended": answer.finish_reason,
    }
    return told if refused is None else told | {"free": refused.text}


def trained(folder: Path) -> bool:
    """Whether training is over: the model card is written last."""
    return (folder / "trained.json").exists()


def answered(engine: Engine, asked: list[Question], adapter: str | None, how: str) -> list[dict[str, Any]]:
    first = engine.ask(asked, adapter, masked=how == "masked")
    again: dict[int, Any] = {}
    if how == "served":
        pairs = enumerate(zip(asked, first, strict=True))
        refused = [n for n, (q, a) in pairs if not engine.allows(q, a.token_ids)]
        again = dict(zip(refused, engine.ask([asked[n] for n in refused], adapter, masked=True), strict=True))
    return [
        row(question, again[n], first[n]) if n in again else row(question, first[n])
        for n, question in enumerate(asked)
    ]


def write(engine: Engine, asked: list[Question], adapter: str | None, how: str, file: Path) -> None:
    began = time.monotonic()
    rows = answered(engine, asked, adapter, how)
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    seconds, tokens = time.monotonic() - began, sum(one["tokens"] for one in rows)
    again = sum(one["again"] for one in rows)
    told = f"{len(rows)} orders in {seconds:.1f} s, {tokens / seconds:.0f} tokens/s, {again} again"
    print(f"{file.stem}: {told}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="answer_vllm")
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--adapter", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument(
        "--ask", nargs=3, action="append", required=True, metavar=("NAME", "HOW", "ASKED.json")
    )
    parser.add_argument("--limit", type=int, default=0, help="questions of each file")
    parser.add_argument("--patience", type=float, default=0, help="seconds for adapters still being trained")
    parser.add_argument("--engine", type=json.loads, default={}, help="more settings of vLLM, as JSON")
    args = parser.parse_args()
    adapters = {name: Path(folder) for name, _, folder in (one.partition("=") for one in args.adapter)}
    for name, how, _ in args.ask:
        if name not in {BASE, *adapters} or how not in HOWS:
            parser.error(f"--ask {name} {how}: of {', '.join((BASE, *adapters))}, and {', '.join(HOWS)}")
    began = time.monotonic()
    engine = Engine(args.folder, adapters, **args.engine)
    print(f"vLLM started in {time.monotonic() - began:.0f} s", flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    until = began + args.patience
    for name, how, file in args.ask:
        adapter = None if name == BASE else name
        while adapter and not trained(adapters[adapter]) and time.monotonic() < until:
            time.sleep(0.5)
        if adapter and not trained(adapters[adapter]):
            print(f"{name}: not trained in time", flush=True)
            continue
        asked = questions(Path(file))[: args.limit or None]
        write(engine, asked, adapter, how, args.out / f"{name}-{how}-{Path(file).stem}.jsonl")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
