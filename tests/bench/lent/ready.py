"""Prepare the first run on a lent GPU here, so that it starts within a minute: `make lent`.

    python -m tests.bench.lent.ready OUT [--epochs 4]

OUT gets the pieces and `calls.json`, the calls of the device tool in their order, to be sent as one batch.
What the calls do is in `first.py`. Needs `.venv-train` (tokenizer) and the weights of the model lock.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

from infra.settings import REPOSITORY, settings
from services.training.__main__ import served
from tests.bench.lent.first import HERE, PIECE
from tests.bench.lent.pack import code, fetched, read_in, split, unzipped

START = "infra/adapters/qwen2.5-coder-1.5b-orders"
PARTS = ("tune", "sealed", "scored", "golden")
# What the machine's own Python lacks (its torch, transformers and safetensors do).
WHEELS = ("peft==0.21.0", "gguf==0.19.0", "llguidance==1.9.1")
WAITS_S = (420, 300)


def prepared(out: Path, python: Path, epochs: int) -> list[Path]:
    """The files that travel in `first.tgz` beside the code: training data, questions, tokenizer, adapter."""
    weights = settings().models_dir / served("1.5b")
    packed = out / "packed.npz"
    _do(python, "-m", "services.training.pack", weights, packed, "--epochs", epochs)
    asked = [out / f"asked-{part}.json" for part in PARTS]
    for part, file in zip(PARTS, asked, strict=True):
        _do(python, "-m", "services.training.ask", weights, file, part)
    config = out / "config"
    _do(python, "-c", _CONFIG, weights.parent, weights.name, config)
    return [packed, *asked, config]


_CONFIG = """
import sys
from transformers import AutoConfig, AutoTokenizer
folder, name, out = sys.argv[1:]
config = AutoConfig.from_pretrained(folder, gguf_file=name)
config.save_pretrained(out)
tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
tokenizer.eos_token = tokenizer.convert_ids_to_tokens(config.eos_token_id)
tokenizer.save_pretrained(out)
"""


def _do(*words: object) -> None:
    subprocess.run([*map(str, words)], cwd=REPOSITORY, check=True)


def bundle(out: Path, files: list[Path]) -> Path:
    """`first.tgz`: code, wheels unpacked as `site`, the files, and the adapter to go on from."""
    made = out / "first.tgz"
    code(out / "code.tgz", ())
    fetched(WHEELS, out / "wheels", "3.12")
    unzipped(out / "wheels", out / "site")
    with tarfile.open(made, "w:gz", compresslevel=6) as archive:
        with tarfile.open(out / "code.tgz") as inner:
            for member in inner.getmembers():
                archive.addfile(member, inner.extractfile(member) if member.isfile() else io.BytesIO())
        archive.add(out / "site", "site")
        archive.add(REPOSITORY / START, "start")
        for file in files:
            archive.add(file, file.name)
    return made


def calls(out: Path, pieces: list[Path], size: int) -> list[dict[str, object]]:
    """The device tool's calls: unpack the bundle, bring the weights, wait, collect."""
    site = f"export PYTHONPATH={HERE}/site; first={HERE}/code/tests/bench/lent/first.py; "
    unpack = f"mkdir -p {HERE} && tar xzf {out}/first.tgz -C {HERE} && nvidia-smi -L"
    made: list[dict[str, object]] = [{"command": unpack, "carry": [f"{out}/first.tgz"], "timeout_s": 60}]
    for piece in pieces:
        receive = f"python3 $first receive {piece} --bytes {size}"
        made.append({"command": site + receive, "carry": [str(piece)], "timeout_s": 60})
    for seconds in WAITS_S:
        collect = f"python3 $first wait {seconds}; python3 $first collect $OUT"
        made.append({"command": site + collect, "timeout_s": seconds + 60})
    return made


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="lent.ready")
    parser.add_argument("out", type=Path, help="an ignored folder of the repository, such as reports/lent")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--trainer", type=Path, default=REPOSITORY / ".venv-train" / "bin" / "python")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    weights = settings().models_dir / served("1.5b")
    pieces = split(read_in(weights, PIECE), args.out, "weights")
    made = bundle(args.out, prepared(args.out, args.trainer, args.epochs))
    listed = calls(args.out, pieces, weights.stat().st_size)
    (args.out / "calls.json").write_text(json.dumps(listed, indent=1))
    print(f"{made.stat().st_size:,} bytes in {made.name}, {len(pieces)} pieces, {len(listed)} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
