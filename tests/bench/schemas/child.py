"""One library over the set: a process that has library and tokenizer ready, and a child for each schema.

    python -m tests.bench.schemas.child --library NAME --tokenizer FOLDER --weights GGUF --cases FILE
        --out FILE

Run by the interpreter of the group `masks`. A child is a fork, with limits of processor time and memory of
its own, so that what hangs or crashes is one schema's finding; OUT gets a line of JSON for each, and those
that it has are not run again. Of a right instance that is refused, other orders of its outermost members are
tried too: which order a library holds to is not judged here.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import resource
import signal
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.schemas import makers

COMPILE_CPU_S = 10
ALL_CPU_S = 30
WALL = 6  # times the processor's time: other work shares the machine
LIMIT_BYTES = 3 << 30
FEW = 4
LIBRARIES = ("llguidance", "xgrammar", "outlines", "lm-format-enforcer", "llama.cpp", "guidance")
PACKAGES = {
    "llguidance": ("llguidance",),
    "guidance": ("guidance", "llguidance"),
    "xgrammar": ("xgrammar",),
    "outlines": ("outlines_core",),
    "lm-format-enforcer": ("lm-format-enforcer",),
    "llama.cpp": ("xllamacpp",),
}
Row = dict[str, Any]


def maker_of(library: str, tokenizer: Any, weights: str) -> makers.Maker:
    vocabulary = len(tokenizer)
    if library == "llguidance":
        return makers.llguidance_maker(tokenizer, vocabulary)
    if library == "guidance":
        return makers.guidance_maker(tokenizer, vocabulary)
    if library == "xgrammar":
        # Not strict: else an object without `additionalProperties` is closed, which JSON Schema does not say.
        return makers.xgrammar_maker(tokenizer, vocabulary, strict=False)
    if library == "outlines":
        return makers.outlines_maker(tokenizer, vocabulary)
    if library == "lm-format-enforcer":
        return makers.enforcer_maker(tokenizer, vocabulary)
    return makers.gbnf_maker(weights, tokenizer.eos_token_id)


def accepts(matcher: makers.Matcher, tokens: list[int]) -> bool:
    """The text token by token, each under its mask, and the end."""
    for token in tokens:
        matcher.fill()
        if not matcher.take(token):
            return False
    return matcher.ended()


def orders(text: str, schema: makers.Schema) -> list[str]:
    """The text with its outermost members in other orders: what is required first; of few members, all."""
    document = json.loads(text)
    if not isinstance(document, dict):
        return []
    required = schema.get("required", [])
    turned = [sorted(document.items(), key=lambda pair: pair[0] not in required)]
    if len(document) <= FEW:
        turned += map(list, itertools.permutations(document.items()))
    texts = [json.dumps(dict(pairs), ensure_ascii=False, separators=(",", ":")) for pairs in turned]
    return [other for other in dict.fromkeys(texts) if other != text]


def tried(case: Row, maker: makers.Maker, tokenizer: Any, tell: Any) -> None:
    """In the child: tell whether the schema is taken, then of each instance."""
    started = time.perf_counter()
    try:
        matcher = maker(case["schema"])
        matcher.fill()
    except BaseException as error:  # a panic of Rust is no Exception
        tell({"refused": type(error).__name__, "words": str(error)[:300]})
        return
    tell({"taken": True, "compile_ms": round((time.perf_counter() - started) * 1e3, 1)})
    resource.setrlimit(resource.RLIMIT_CPU, (ALL_CPU_S, ALL_CPU_S + 5))

    def read(text: str) -> bool:
        return accepts(maker(case["schema"]), tokenizer.encode(text))

    for kind in ("invalid", "valid"):
        for text in case[kind]:
            try:
                accepted = read(text) or (kind == "valid" and any(map(read, orders(text, case["schema"]))))
            except BaseException as error:
                tell({kind: False, "failed": f"{type(error).__name__}: {error}"[:300]})
                continue
            tell({kind: accepted})
    tell({"done": True})


def in_child(case: Row, maker: makers.Maker, tokenizer: Any) -> Row:
    """What a fork told of the case, and how it ended."""
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as errors:
        pid = os.fork()
        if pid == 0:
            try:
                os.dup2(errors.fileno(), 2)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))
                resource.setrlimit(resource.RLIMIT_CPU, (COMPILE_CPU_S, ALL_CPU_S + 5))
                tried(
                    case,
                    maker,
                    tokenizer,
                    lambda row: os.write(told.fileno(), json.dumps(row).encode() + b"\n"),
                )
            finally:
                os._exit(0)
        until = time.monotonic() + WALL * ALL_CPU_S
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)
        told.seek(0)
        errors.seek(0)
        lines = [json.loads(line) for line in told.read().splitlines()]
        noise = errors.read().decode(errors="replace")
    return {
        "name": case["name"],
        "told": lines,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "stderr": noise[-300:],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--library", choices=LIBRARIES, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import PreTrainedTokenizerFast

    versions = {package: version(package) for package in PACKAGES[args.library]}
    args.out.with_suffix(".versions.json").write_text(json.dumps(versions) + "\n")
    cases = [json.loads(line) for line in args.cases.read_text().splitlines()]
    known = set()
    if args.out.exists():
        known = {json.loads(line)["name"] for line in args.out.read_text().splitlines()}
    if all(case["name"] in known for case in cases):
        return 0
    tokenizer = PreTrainedTokenizerFast.from_pretrained(args.tokenizer)
    maker = maker_of(args.library, tokenizer, args.weights)
    gc.freeze()
    with args.out.open("a") as out:
        for case in cases:
            if case["name"] not in known:
                out.write(json.dumps(in_child(case, maker, tokenizer)) + "\n")
                out.flush()
    sys.stdout.flush()
    os._exit(0)  # what the libraries would tell of themselves at the end is no finding


if __name__ == "__main__":
    sys.exit(main())
