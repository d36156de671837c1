"""What a mask costs by itself: compile time, and time a token, of each library on the same token streams.

    VLLM_PYTHON tests/bench/techniques/masks.py --model FOLDER --streams FILE --out FILE

Run by the interpreter of vLLM's environment, which has all three libraries and the model's tokenizer; so
nothing of ours is imported here. `streams` comes from `python -m tests.bench.techniques.streams`: valid carts
with the schema of their menu and the grammar of their order. The model is not run. Each library runs in a
child process with a limit of time and memory, since a compile that does not end is one of the findings.
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

os.environ["HF_HUB_OFFLINE"] = "1"
LIMIT_S = 300
LIMIT_BYTES = 8 << 30
SUBJECTS = ("llguidance", "llguidance evidence", "xgrammar", "outlines cut down", "outlines")
LIBRARIES = {"llguidance": "llguidance", "xgrammar": "xgrammar", "outlines": "outlines_core"}

Matcher = tuple[Callable[[], None], Callable[[int], bool]]
"""Fill the mask of the next token; take a token, False if it is refused."""
Maker = Callable[[dict[str, Any]], Matcher]
"""Makes a matcher for a stream; what is shared by streams is kept between calls."""


def llguidance_maker(tokenizer: Any, vocabulary: int, evidence: bool) -> Maker:
    import llguidance
    import llguidance.hf
    import llguidance.torch

    own = llguidance.hf.from_tokenizer(tokenizer, vocabulary)
    bitmask = llguidance.torch.allocate_token_bitmask(1, vocabulary)
    compact = {"whitespace_flexible": False}

    def make(stream: dict[str, Any]) -> Matcher:
        if evidence:
            grammar = stream["lark"]
        else:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(stream["schema"], overrides=compact)
        matcher = llguidance.LLMatcher(own, grammar)
        if matcher.get_error():
            raise ValueError(matcher.get_error())
        fill = llguidance.torch.fill_next_token_bitmask
        return lambda: fill(matcher, bitmask, 0), matcher.consume_token

    return make


def xgrammar_maker(tokenizer: Any, vocabulary: int) -> Maker:
    import xgrammar

    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocabulary)
    compiler = xgrammar.GrammarCompiler(info, max_threads=1)
    bitmask = xgrammar.allocate_token_bitmask(1, vocabulary)

    def make(stream: dict[str, Any]) -> Matcher:
        schema = json.dumps(stream["schema"])
        grammar = compiler.compile_json_schema(schema, any_whitespace=False, separators=(",", ":"))
        matcher = xgrammar.GrammarMatcher(grammar)
        return lambda: matcher.fill_next_token_bitmask(bitmask, 0), matcher.accept_token

    return make


def outlines_maker(tokenizer: Any, vocabulary: int, which: str) -> Maker:
    import outlines_core
    import torch
    from outlines_core import json_schema
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    byte_of = {sign: byte for byte, sign in bytes_to_unicode().items()}
    words: dict[bytes, list[int]] = {}
    for word, number in tokenizer.get_vocab().items():
        if word not in tokenizer.all_special_tokens and all(sign in byte_of for sign in word):
            words.setdefault(bytes(byte_of[sign] for sign in word), []).append(number)
    own = outlines_core.Vocabulary(tokenizer.eos_token_id, words)
    bitmask = torch.zeros((vocabulary + 31) // 32, dtype=torch.int32)
    known: dict[str, Any] = {}

    def make(stream: dict[str, Any]) -> Matcher:
        regex = json_schema.build_regex_from_schema(json.dumps(stream[which]), "")
        if regex not in known:
            known[regex] = outlines_core.Index(regex, own)
        guide = outlines_core.Guide(known[regex])

        def take(token: int) -> bool:
            if not guide.accepts_tokens([token]):
                return False
            guide.advance(token)
            return True

        size = bitmask.element_size()
        return lambda: guide.write_mask_into(bitmask.data_ptr(), bitmask.numel(), size), take

    return make


def measured(subject: str, model: Path, streams: list[dict[str, Any]]) -> dict[str, Any]:
    """Milliseconds of the first compile of each menu and of later ones, microseconds a token, refusals."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    vocabulary = json.loads((model / "config.json").read_text())["vocab_size"]
    if subject.startswith("llguidance"):
        maker = llguidance_maker(tokenizer, vocabulary, evidence="evidence" in subject)
    elif subject == "xgrammar":
        maker = xgrammar_maker(tokenizer, vocabulary)
    else:
        maker = outlines_maker(tokenizer, vocabulary, "cut" if "cut" in subject else "schema")
    first: dict[str, float] = {}
    later: list[float] = []
    masks: list[float] = []
    refused = 0
    for stream in streams:
        start = time.perf_counter()
        fill, take = maker(stream)
        fill()
        taken = (time.perf_counter() - start) * 1e3
        if stream["menu"] in first:
            later.append(taken)
        else:
            first[stream["menu"]] = taken
        for token in tokenizer.encode(stream["text"]):
            start = time.perf_counter()
            fill()
            masks.append((time.perf_counter() - start) * 1e6)
            if not take(token):
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
    words = [sys.executable, __file__, "--model", str(args.model), "--streams", str(args.streams)]
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
