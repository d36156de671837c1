"""The first run on the GPU machine: receive weights, train each model, and answer the gate's questions.

    python first.py receive MODEL weights-NN    # a piece of a GGUF; the first one starts that model's run
    python first.py wait SECONDS OUT            # until all is done or the time is up; prints the logs' ends
                                                # and writes the results into OUT, in small files

MODEL is one of `PLANS`. Its run continues in the background between calls: unpack while pieces arrive, train,
then answer the questions of all parts at once.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path("/tmp/gpu")
CODE = HERE / "code"
TRAINING, TOOLS = CODE / "services" / "learning" / "training", CODE / "tests" / "bench" / "gpu"
PIECE = 62_000_000
MOST_OUT = 15_000_000  # largest file to send back, in bytes; at most eight files per call
# FlexAttention with compiled layers is three times as fast as dense attention, the fallback.
FLEX, DENSE = ("--flex", "--step", "8192"), ("--step", "4096")
# Largest first: each is answered by a separate process.
TEXTS = ("sealed", "held-out", "tune", "scored", "golden")
SETS = (*TEXTS, "people", "golden-clean", "golden-babble", "strangers-clean", "strangers-babble")


@dataclass(frozen=True, slots=True)
class Plan:
    """A model's run: when training ends (seconds after the bundle began to arrive), learning rate, gate sets
    to answer, and name in the model lock."""

    until: int
    rate: float
    parts: tuple[str, ...]
    name: str


PLANS = {
    "0.5b": Plan(400, 5e-4, ("tune", "sealed", "held-out"), "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
    "1.5b": Plan(450, 2e-4, SETS, "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
}


def start_detached(log: Path, *words: object) -> None:
    """Start a command that outlives this call."""
    with log.open("ab") as out:
        subprocess.Popen([sys.executable, *map(str, words)], stdout=out, stderr=out, start_new_session=True)


def receive(model: str, piece: Path, size: int) -> None:
    """Write a piece at its offset. The first one starts the run."""
    folder = HERE / model
    gguf, marks = folder / "model.gguf", folder / "marks"
    marks.mkdir(parents=True, exist_ok=True)
    started = gguf.exists()
    with gguf.open("r+b" if started else "wb") as file:
        if not started:
            file.truncate(size)
        number = int(piece.name.rpartition("-")[2])
        file.seek(number * PIECE)
        file.write(piece.read_bytes())
    (marks / str(number)).touch()
    if not started:
        start_detached(folder / "log", __file__, "run", model)


def run(model: str) -> None:
    """Run all steps of a model, and print the time of each."""
    folder, plan = HERE / model, PLANS[model]
    gguf, marks, base, adapter = (folder / name for name in ("model.gguf", "marks", "base", "adapter"))
    fit = (
        *(TRAINING / "fit.py", base, HERE / "packed.npz", adapter, "--device", "cuda"),
        *("--rank", 16, "--rate", plan.rate, "--name", plan.name),
        *("--start", HERE / f"start-{model}"),
    )
    unpacked = _step(TOOLS / "unpack.py", gguf, HERE / f"config-{model}", base, marks, PIECE)
    done = unpacked and any(_step(*fit, *how, "--within", _remaining_s(plan)) for how in (FLEX, DENSE))
    (folder / "fitted").touch()
    if done:
        _answer(base, adapter, folder, plan)
    (folder / "over").touch()


def _remaining_s(plan: Plan) -> float:
    """Seconds until training ends; the bundle's first piece created the file `began`."""
    return max(30.0, plan.until - (time.time() - (HERE / "began").stat().st_mtime))


def _step(*words: object) -> bool:
    began = time.monotonic()
    code = subprocess.run([sys.executable, *map(str, words)], check=False).returncode
    print(f"{Path(str(words[0])).name}: {time.monotonic() - began:.0f} s, exit {code}", flush=True)
    return code == 0


def _answer(base: Path, adapter: Path, folder: Path, plan: Plan) -> None:
    began = time.monotonic()
    files = [(HERE / f"gate-{part}.json", folder / f"gate-{part}.jsonl") for part in plan.parts]
    words = [sys.executable, TRAINING / "answer.py", base, adapter]
    started = [subprocess.Popen([*map(str, (*words, *pair)), "--device", "cuda"]) for pair in files]
    codes = [process.wait() for process in started]
    print(f"answers: {time.monotonic() - began:.0f} s, exits {codes}", flush=True)


def wait(seconds: float, out: Path) -> None:
    over = [HERE / model / "over" for model in PLANS]
    until = time.monotonic() + seconds
    while not all(mark.exists() for mark in over) and time.monotonic() < until:
        time.sleep(0.5)
    for log in sorted(HERE.glob("**/log")):
        print(f"--- {log}\n{log.read_text()[-2500:]}")
    collect(out)


def collect(out: Path) -> None:
    """Write answers, logs and cards as one archive, and adapter weights in pieces."""
    with tarfile.open(out / "small.tgz", "w:gz") as archive:
        for pattern in ("*/gate-*.jsonl", "*/adapter/*.json", "*/log"):
            for file in HERE.glob(pattern):
                archive.add(file, file.relative_to(HERE))
    for file in sorted(HERE.glob("*/adapter/*.safetensors")):
        if not (file.parents[1] / "fitted").exists():  # may be incomplete
            continue
        whole, model = file.read_bytes(), file.parents[1].name
        for number, start in enumerate(range(0, len(whole), MOST_OUT)):
            (out / f"{model}-{file.name}.{number}").write_bytes(whole[start : start + MOST_OUT])


def main() -> int:
    do, *words = sys.argv[1:]
    if do == "receive":
        receive(words[0], Path(words[1]), int(words[2]))
    elif do == "run":
        run(words[0])
    else:
        wait(float(words[0]), Path(words[1]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
