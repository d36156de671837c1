"""What a mask costs by itself: compile time, and time a token, of each library on the same token streams.

    VLLM_PYTHON -m tests.bench.techniques.masks --model FOLDER --streams FILE --out FILE

Run by the interpreter of vLLM's environment, which has all three libraries and the model's tokenizer; so
nothing of the product is imported here. `streams` comes from `python -m tests.bench.techniques.streams`:
valid carts with the schema of their menu and the grammar of their order. The model is not run. Each library
runs in a child process with a limit of time and memory, since a compile that does not end is one of the
findings.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.schemas.makers import Maker, llguidance_maker, outlines_maker, xgrammar_maker

os.environ["HF_HUB_OFFLINE"] = "1"
LIMIT_S = 300
LIMIT_BYTES = 8 << 30
SUBJECTS = ("llguidance", "llguidance evidence", "xgrammar", "outlines cut down", "outlines")
MAKERS: dict[str, Callable[[Any, int], Maker]] = {
    "llguidance": llguidance_maker,
    "xgrammar": xgrammar_maker,
    "outlines": outlines_maker,
}
LIBRARIES = {"llguidance": "llguidance", "xgrammar": "xgrammar", "outlines": "outlines_core"}


def measured(subject: str, model: Path, streams: list[dict[str, Any]]) -> dict[str, Any]:
    """Milliseconds of the first compile of each menu and of later ones, microseconds a token, refusals."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    vocabulary = json.loads((model / "config.json").read_text())["vocab_size"]
    maker = MAKERS[subject.partition(" ")[0]](tokenizer, vocabulary)
    which = {"llguidance evidence": "lark", "outlines cut down": "cut"}.get(subject, "schema")
    first: dict[str, float] = {}
    later: list[float] = []
    masks: list[float] = []
    refused = 0
    for stream in streams:
        start = time.perf_counter()
        matcher = maker(stream[which])
        matcher.fill()
        taken = (time.perf_counter() - start) * 1e3
        if stream["menu"] in first:
            later.append(taken)
        else:
            first[stream["menu"]] = taken
        for token in tokenizer.encode(stream["text"]):
            start = time.perf_counter()
            matcher.fill()
            masks.append((time.perf_counter() - start) * 1e6)
            if not matcher.take(token):
                refused += 1
                break
    return {
        "first_compile_ms": {menu: round(ms, 1) for menu, ms in first.items()},
        "later_compile_ms_p50": round(_rank(later, 0.5), 2) if later else None,
        "mask_us": {f"p{share}": round(_rank(masks, share / 100), 1) for share in (50, 95, 99)},
        "mask_us_max": round(max(masks), 1),
        "tokens": len(masks),
        "streams": len(streams),
        "streams_refused": refused,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def _rank(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def in_child(subject: str, args: argparse.Namespace) -> dict[str, Any]:
    """One subject in a process of its own; what stops it is its result."""
    words = [
        sys.executable,
        "-m",
        "tests.bench.techniques.masks",
        "--model",
        str(args.model),
        "--streams",
        str(args.streams),
    ]
    try:
        child = subprocess.run(
            [*words, "--subject", subject], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return {"stopped": f"not compiled within {LIMIT_S} s"}
    if child.returncode != 0:
        return {"stopped": (child.stderr.strip().splitlines() or ["killed"])[-1][:200]}
    found: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--streams", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--subject", choices=SUBJECTS, help="one of them, in this process")
    args = parser.parse_args()
    if args.subject:
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))
        print(json.dumps(measured(args.subject, args.model, json.loads(args.streams.read_text()))))
        return 0
    versions = {name: version(package) for name, package in LIBRARIES.items()}
    found: dict[str, Any] = {}
    for subject in SUBJECTS:
        found[subject] = in_child(subject, args)
        args.out.write_text(json.dumps({"versions": versions, "subjects": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
