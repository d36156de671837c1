"""Train the cart adapter, from orders to scores. The same command resumes an interrupted run.

    python -m services.learning.training [STEP...] --base 0.5b --device cpu      # or `make train`

| step | writes to OUT/BASE-eEPOCHS-sSEED |
|---|---|
| `pack` | `packed.npz`: the training sequences |
| `ask` | `PART.json`: the prompts of a part |
| `fit` | `adapter/`, with a checkpoint every few minutes |
| `answer` | `PART.jsonl`: the adapter's answers |
| `score` | nothing; prints figures |

Existing results are reused: delete the folder after a change of orders or menus. `fit` and `answer` need
torch but none of our code, so they can run on a GPU machine, on a copy of the folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

STEPS = ("pack", "ask", "fit", "answer", "score")
# Rank, learning rate and tokens per step of the adapters in infra/adapters.
HYPERPARAMETERS = {"0.5b": (16, 5e-4, 4096), "1.5b": (16, 4e-4, 4096)}
HERE = Path(__file__).resolve().parent


def served(base: str) -> str:
    """Return the model of the lock that an adapter is served with."""
    return f"qwen2.5-coder-{base}-instruct-q4_k_m.gguf"


def train(args: argparse.Namespace) -> None:
    """Run the requested steps whose results don't exist yet.

    Raises:
        SystemExit: the weights are missing, or a step failed and has printed why.
    """
    weights = (args.weights or _fetched(served(args.base))).absolute()
    if not weights.exists():
        raise SystemExit(f"No weights at {weights}: pass --weights, or fetch {served(args.base)}")
    folder = args.out.absolute() / f"{args.base}-e{args.epochs}-s{args.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    packed, adapter = folder / "packed.npz", folder / "adapter"
    questions, answers = folder / f"{args.part}.json", folder / f"{args.part}.jsonl"
    rank, rate, step = HYPERPARAMETERS[args.base]
    device = ("--device", args.device)
    if "pack" in args.steps:
        _create(packed, lambda out: _pack(weights, out, args.epochs, args.seed))
    if "ask" in args.steps:
        _create(questions, lambda out: _ask(weights, out, args.part))
    if "fit" in args.steps and not (adapter / "trained.json").exists():
        tuned = ("--rank", rank, "--rate", rate, "--step", step, "--seed", args.seed)
        _run("fit", weights, packed, adapter, *device, *tuned, "--name", served(args.base))
    if "answer" in args.steps:
        batch = ("--rows", 160 if args.device == "cuda" else 16)
        _create(answers, lambda out: _run("answer", weights, adapter, questions, out, *device, *batch))
    if "score" in args.steps:
        from services.learning.training import score

        score.main([args.part, str(answers)])


def _create(file: Path, write: Callable[[Path], None]) -> None:
    """Write `file`, unless it exists, completely or not at all."""
    if file.exists():
        return
    unfinished = file.with_name(f"unfinished-{file.name}")
    write(unfinished)
    unfinished.replace(file)


def _pack(weights: Path, out: Path, epochs: int, seed: int) -> None:
    from services.learning.training.examples import chat_of
    from services.learning.training.pack import training

    packed = training(chat_of(weights), epochs=epochs, seed=seed)
    packed.save(out)
    print(f"{len(packed.ends)} sequences, {len(packed.tokens)} tokens, {sum(packed.learned)} to predict")
    for reason, count in packed.skipped.most_common():
        print(f"skipped, {reason}: {count}")


def _ask(weights: Path, out: Path, part: Any) -> None:
    from services.decoding.ports import CartRequest
    from services.learning.training.examples import chat_of, questions
    from services.learning.training.orders import shops

    chat, menus = chat_of(weights), list[dict[str, Any]]()
    for shop in filter(lambda shop: shop.rows, shops(part)):
        requests = ((row.id, CartRequest(row.utterance, shop.menu)) for row in shop.rows)
        menus.append(questions(chat, part, shop.context, requests))
    out.write_text(json.dumps(menus))
    print(f"{len(menus)} menus, {sum(len(one['orders']) for one in menus)} orders")


def _run(step: str, *args: object) -> None:
    """Run a step as a script, without our code on its path."""
    print(f"{step}:", flush=True)
    command = [sys.executable, str(HERE / f"{step}.py"), *map(str, args)]
    done = subprocess.run(command, cwd=HERE.parents[2], check=False)
    if done.returncode:
        raise SystemExit(f"{step} failed with {done.returncode}; run the same command to resume")


def _fetched(name: str) -> Path:
    from infra.settings import settings  # not installed on a GPU machine

    return settings().models_dir / name


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="training")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"any of {', '.join(STEPS)}; default: all")
    parser.add_argument("--base", choices=tuple(HYPERPARAMETERS), default="0.5b")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=("tune", "scored", "golden", "sealed", "held-out"), default="tune")
    parser.add_argument("--out", type=Path, default=HERE.parents[2] / "reports" / "train")
    parser.add_argument("--weights", type=Path, help="GGUF or folder of safetensors; default: the fetched")
    args = parser.parse_args(argv)
    args.steps = args.steps or STEPS
    if unknown := set(args.steps) - set(STEPS):
        parser.error(f"unknown step {', '.join(sorted(unknown))}; choose from {', '.join(STEPS)}")
    train(args)


if __name__ == "__main__":
    main()
