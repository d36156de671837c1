"""The set of hard schemas through each library.

    python -m tests.bench.schemas --python PY [--out FOLDER] [--only NAME,NAME] [--minutes M]

PY is the interpreter of the group `masks`. Writes the set to OUT/cases.jsonl and what each library made of
it to OUT/LIBRARY.jsonl, and goes on where it was stopped. Then: `python -m tests.bench.schemas.report`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from infra.settings import settings
from infra.weights.models import resolve
from services.engines.servers.gguf import metadata
from tests.bench.schemas.cases import every_case
from tests.bench.schemas.child import LIBRARIES

WEIGHTS = "smollm2-135m-instruct-q4_1.gguf"
_CONTROL = 3


def write_tokenizer(weights: Path, folder: Path) -> None:
    """The tokenizer of a GGUF whose tokens are bytes by pairs, as `transformers` loads one. SmolLM2 parts
    digits, and words as GPT-2 does."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    found = metadata(weights)
    words = found["tokenizer.ggml.tokens"]
    merges = [tuple(pair.split(" ")) for pair in found["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = zip(words, found["tokenizer.ggml.token_type"], strict=True)
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word, kind in kinds if kind == _CONTROL])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    end = words[found["tokenizer.ggml.eos_token_id"]]
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": end,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("reports/schemas"))
    parser.add_argument("--only", default=",".join(LIBRARIES))
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after so long, to go on later")
    args = parser.parse_args()
    until = time.monotonic() + 60 * args.minutes
    args.out.mkdir(parents=True, exist_ok=True)
    cases = args.out / "cases.jsonl"
    cases.write_text("".join(json.dumps(asdict(case)) + "\n" for case in every_case()))
    weights = Path(resolve(WEIGHTS, settings().models_dir))
    write_tokenizer(weights, args.out / "tokenizer")
    for library in args.only.split(","):
        words = ["--library", library, "--tokenizer", args.out / "tokenizer", "--weights", weights]
        words += ["--cases", cases, "--out", args.out / f"{library}.jsonl"]
        call = [args.python.absolute(), "-m", "tests.bench.schemas.child", *words]
        try:
            subprocess.run(list(map(str, call)), check=True, timeout=max(1.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            print(f"{library} is not done; run it again to go on")
            return 0
        print(f"{library}: done", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
