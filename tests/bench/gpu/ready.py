"""Prepare the first run on a rented GPU, so that it starts within a minute (`make gpu-pack`).

    python -m tests.bench.gpu.ready OUT [--epochs 7] [--people FOLDER]

Writes the pieces and `calls.json`: the commands to run on that machine, in order, as one batch. `first.py`
has their code. Needs `.venv-train` (tokenizer) and the weights of the model lock.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

from infra.settings import REPOSITORY, settings
from services.learning.training.__main__ import served
from tests.bench.gpu.first import HERE, PIECE, PLANS, SETS
from tests.bench.gpu.pack import code, fetched, read_in, split, unzipped

# Packages that the machine's Python lacks (it has torch, transformers and safetensors).
WHEELS = ("peft==0.21.0", "gguf==0.19.0", "llguidance==1.9.1")
SEED = 1  # differs from the seed of the adapters that training continues from
WAITS_S = (240, 110, 70, 40, 30, 20)


def prepared(out: Path, python: Path, epochs: int, people: Path | None) -> list[Path]:
    """Write the bundle's data files: training data, questions, tokenizers. All models have the same
    tokenizer, so they share data and questions."""
    first = next(iter(PLANS))
    folder = out / f"{first}-e{epochs}-s{SEED}"
    shutil.rmtree(folder, ignore_errors=True)  # orders or menus may have changed
    files = [folder / "packed.npz"]
    train = ("-m", "services.learning.training", "pack", "--base", first, "--epochs", epochs, "--seed", SEED)
    _do(python, *train, "--out", out)
    both = (sysconfig.get_path("purelib"), "questions", out, *(("--people", people) if people else ()))
    _do(python, "-c", _RERECORD, *both)
    files += [out / f"gate-{name}.json" for name in SETS]
    for model in PLANS:
        gguf = settings().models_dir / served(model)
        files.append(out / f"config-{model}")
        _do(python, "-c", _CONFIG, gguf.parent, gguf.name, files[-1])
    return files


# The trainer's packages first, then saycart's.
_RERECORD = """
import runpy, site, sys
site.addsitedir(sys.argv.pop(1))
runpy.run_module("tests.gate.rerecord", run_name="__main__", alter_sys=True)
"""
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


def bundle(out: Path, files: list[Path]) -> list[Path]:
    """Write `first-NN`: code, wheels unpacked as `site`, the files, and the adapters to continue from. xz's
    long window compresses menus that repeat."""
    bundle = out / "first.tar.xz"
    code(out / "code.tgz")
    fetched(WHEELS, out / "wheels", "3.12")
    unzipped(out / "wheels", out / "site")
    with tarfile.open(bundle, "w:xz", preset=4) as archive:
        with tarfile.open(out / "code.tgz") as inner:
            for member in inner.getmembers():
                archive.addfile(member, inner.extractfile(member) if member.isfile() else io.BytesIO())
        archive.add(out / "site", "site")
        for model in PLANS:
            archive.add(REPOSITORY / f"infra/adapters/qwen2.5-coder-{model}-orders", f"start-{model}")
        for file in files:
            archive.add(file, file.name)
    pieces = split(read_in(bundle, PIECE), out, "first")
    bundle.unlink()
    return pieces


def calls(pieces: dict[str, list[Path]], sizes: dict[str, int]) -> list[dict[str, object]]:
    """Return the commands: join and unpack the bundle, receive the weights, wait and collect."""
    first = f"export PYTHONPATH={HERE}/site; first={HERE}/code/tests/bench/gpu/first.py; "
    unpack = f"python3 -c \"import tarfile; tarfile.open('{HERE}/first').extractall('{HERE}')\""
    listed: list[dict[str, object]] = []
    for number, piece in enumerate(pieces["first"], 1):
        begin = f"mkdir -p {HERE} && touch {HERE}/began && " if number == 1 else ""
        command = f"{begin}cat {piece} >>{HERE}/first"
        if number == len(pieces["first"]):
            command += f" && nvidia-smi -L && {unpack}"
        listed.append({"command": command, "carry": [str(piece)], "timeout_s": 90})
    for model, size in sizes.items():
        for piece in pieces[model]:
            command = f"{first}python3 $first receive {model} {piece} {size}"
            listed.append({"command": command, "carry": [str(piece)], "timeout_s": 60})
    waits = ((f"{first}python3 $first wait {seconds} $OUT", seconds + 60) for seconds in WAITS_S)
    return [*listed, *({"command": command, "timeout_s": limit} for command, limit in waits)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gpu.ready")
    parser.add_argument("out", type=Path, help="an ignored folder of the repository, such as reports/gpu")
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--people", type=Path, help="real people's orders, as `make gate` takes them")
    parser.add_argument("--trainer", type=Path, default=REPOSITORY / ".venv-train" / "bin" / "python")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    pieces, sizes = dict[str, list[Path]](), dict[str, int]()
    pieces["first"] = bundle(args.out, prepared(args.out, args.trainer, args.epochs, args.people))
    for model in PLANS:
        weights = settings().models_dir / served(model)
        sizes[model] = weights.stat().st_size
        pieces[model] = split(read_in(weights, PIECE), args.out, f"weights-{model}")
    listed = calls(pieces, sizes)
    (args.out / "calls.json").write_text(json.dumps(listed, indent=1))
    counts = ", ".join(f"{len(files)} of {name}" for name, files in pieces.items())
    print(f"pieces: {counts}; {len(listed)} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
