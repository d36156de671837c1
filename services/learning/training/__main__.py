"""Train the learned reader, from orders to scores; the same command goes on where it stopped.

    python -m services.learning.training [STEP...] --base 0.5b --device cpu      # or `make train`

| step | makes, in OUT/BASE-eEPOCHS-sSEED |
|---|---|
| `pack` | `packed.npz`, all that is learned from |
| `ask` | `PART.json`, the questions of a part |
| `fit` | `adapter/`, by way of a checkpoint every few minutes |
| `answer` | `PART.jsonl`, the adapter's answers to them |
| `score` | nothing; prints figures |

What is there is not made again: remove the folder when orders or menus changed. `fit` and `answer` need torch
and none of our code, so a machine with a GPU can do these two on a copy of the folder.
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
# Rank, rate and tokens a step (0: one sequence) of the adapters under infra/adapters.
FITTED = {"0.5b": (16, 5e-4, 4096), "1.5b": (16, 4e-4, 4096)}
HERE = Path(__file__).resolve().parent


def served(base: str) -> str:
    """The model of the lock that an adapter is for."""
    return f"qwen2.5-coder-{base}-instruct-q4_k_m.gguf"


def train(args: argparse.Namespace) -> None:
    """Do the steps that are asked for and not done yet.

    Raises:
        SystemExit: the weights are not there, or a step ended with an error, which it has printed.
    """
    weights = (args.weights or _fetched(served(args.base))).absolute()
    if not weights.exists():
        raise SystemExit(f"No weights at {weights}: name them with --weights, or fetch {served(args.base)}")
    folder = args.out.absolute() / f"{args.base}-e{args.epochs}-s{args.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    packed, adapter = folder / "packed.npz", folder / "adapter"
    asked, answered = folder / f"{args.part}.json", folder / f"{args.part}.jsonl"
    rank, rate, step = FITTED[args.base]
    on = ("--device", args.device)
    if "pack" in args.steps:
        _made(packed, lambda out: _pack(weights, out, args.epochs, args.seed))
    if "ask" in args.steps:
        _made(asked, lambda out: _ask(weights, out, args.part))
    if "fit" in args.steps and not (adapter / "trained.json").exists():
        learning = ("--rank", rank, "--rate", rate, "--step", step, "--seed", args.seed)
        _run("fit", weights, packed, adapter, *on, *learning, "--name", served(args.base))
    if "answer" in args.steps:
        rows = 160 if args.device == "cuda" else 16
        _made(answered, lambda out: _run("answer", weights, adapter, asked, out, *on, "--rows", rows))
    if "score" in args.steps:
        from services.learning.training import score

        score.main([args.part, str(answered)])


def _made(file: Path, make: Callable[[Path], None]) -> None:
    """Have `file` made where it is not there; a step cut off leaves none."""
    if file.exists():
        return
    unfinished = file.with_name(f"unfinished-{file.name}")
    make(unfinished)
    unfinished.replace(file)


def _pack(weights: Path, out: Path, epochs: int, seed: int) -> None:
    from services.learning.training.examples import chat_of
    from services.learning.training.pack import training

    packed = training(chat_of(weights), epochs=epochs, seed=seed)
    packed.save(out)
    print(f"{len(packed.ends)} sequences, {len(packed.tokens)} tokens, {sum(packed.learned)} to be learned")
    for reason, times in packed.left_out.most_common():
        print(f"left out, {reason}: {times}")


def _ask(weights: Path, out: Path, part: Any) -> None:
    from services.decoding.ports import CartRequest
    from services.learning.training.examples import chat_of, questions
    from services.learning.training.orders import shops

    chat, asked = chat_of(weights), list[dict[str, Any]]()
    for shop in filter(lambda shop: shop.rows, shops(part)):
        requests = ((row.id, CartRequest(row.utterance, shop.menu)) for row in shop.rows)
        asked.append(questions(chat, part, shop.context, requests))
    out.write_text(json.dumps(asked))
    print(f"{len(asked)} menus, {sum(len(one['orders']) for one in asked)} orders")


def _run(step: str, *words: object) -> None:
    """Run a step as a file, without our code."""
    print(f"{step}:", flush=True)
    command = [sys.executable, str(HERE / f"{step}.py"), *map(str, words)]
    done = subprocess.run(command, cwd=HERE.parents[2], check=False)
    if done.returncode:
        raise SystemExit(f"{step} ended with {done.returncode}; the same command goes on from here")


def _fetched(name: str) -> Path:
    from infra.settings import settings  # not on a machine that only computes

    return settings().models_dir / name


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="training")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"of {', '.join(STEPS)}; by default all")
    parser.add_argument("--base", choices=tuple(FITTED), default="0.5b")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=("tune", "scored", "golden", "sealed", "held-out"), default="tune")
    parser.add_argument("--out", type=Path, default=HERE.parents[2] / "reports" / "train")
    parser.add_argument("--weights", type=Path, help="GGUF, or folder of safetensors; else what was fetched")
    args = parser.parse_args(argv)
    args.steps = args.steps or STEPS
    if unknown := set(args.steps) - set(STEPS):
        parser.error(f"no step is called {', '.join(sorted(unknown))}; there are: {', '.join(STEPS)}")
    train(args)


if __name__ == "__main__":
    main()
